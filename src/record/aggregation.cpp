#include "rueda/record/aggregation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace rueda {
namespace {

/// Of one kind, over epochs.
KindSums sums_of(std::span<const EpochRecord> epochs, std::size_t global_batch, StepKind kind) {
  KindSums sums;
  for (const EpochRecord& epoch : epochs) {
    const EpochSums own = epoch.written ? epoch.sums : sum_up(epoch.step_records, global_batch);
    if (kind != StepKind::partial) sums += own.full;
    if (kind != StepKind::full) sums += own.partial;
  }
  return sums;
}

/// Over ranks, of value(sums) per step.
template <typename Value>
Spread per_step(const std::vector<RankSums>& ranks, Value value) {
  std::vector<double> means;
  for (const RankSums& s : ranks) {
    if (s.steps > 0) means.push_back(value(s) / static_cast<double>(s.steps));
  }
  return spread_of(means);
}

/// What of a rank's sums is averaged over its steps as it is.
constexpr std::array<std::pair<Spread StepBreakdown::*, double RankSums::*>, 7> kMeans = {
    {{&StepBreakdown::step, &RankSums::seconds},
     {&StepBreakdown::busy, &RankSums::busy},
     {&StepBreakdown::wait, &RankSums::wait},
     {&StepBreakdown::add, &RankSums::add},
     {&StepBreakdown::prepare, &RankSums::prepare},
     {&StepBreakdown::copy, &RankSums::copy},
     {&StepBreakdown::copy_bytes, &RankSums::copy_bytes}}};

RankTotal rank_total(int rank, const std::vector<StepRecord>& steps, std::size_t global_batch) {
  RankTotal total;
  total.rank = rank;
  std::vector<double> full;
  std::vector<double> compute;
  for (const StepRecord& s : steps) {
    total += s;
    if (!is_kind(s, global_batch, StepKind::full)) continue;
    full.push_back(s.seconds);
    compute.push_back(s.seconds - s.phases[static_cast<std::size_t>(Phase::all_reduce)]);
  }
  total.full_steps = spread_of(full);
  total.full_compute = spread_of(compute);
  return total;
}

std::vector<double> column(std::span<const EpochRecord> epochs, double EpochRecord::*member) {
  std::vector<double> values;
  for (const EpochRecord& e : epochs) values.push_back(e.*member);
  return values;
}

/// The last epochs that follow a first one, up to the next first one.
std::span<const EpochRecord> steady_stretch(std::span<const EpochRecord> epochs) {
  const auto is_first = [&](std::size_t i) { return i == 0 || epochs[i].resumed_at_step; };
  const auto elsewhere = [&](std::size_t i) { return epochs[i].ranks != epochs.back().ranks; };
  std::size_t end = epochs.size();
  while (end > 0 && is_first(end - 1)) --end;
  std::size_t begin = end;
  while (begin > 0 && !is_first(begin - 1)) --begin;
  if (begin == end || elsewhere(begin)) return {};
  return epochs.subspan(begin, end - begin);
}

double total(const RankInfo& rank) {
  double sum = 0;
  for (const auto& [name, seconds] : rank.startup) sum += seconds;
  return sum;
}

}  // namespace

StepBreakdown break_down(std::span<const EpochRecord> epochs, std::size_t global_batch,
                         StepKind kind) {
  const KindSums sums = sums_of(epochs, global_batch, kind);
  const std::vector<RankSums>& ranks = sums.ranks;
  StepBreakdown b;
  b.steps = ranks.empty() ? 0 : ranks.front().steps;
  for (std::size_t p = 0; p < kPhases; ++p) {
    b.phases[p] = per_step(ranks, [p](const RankSums& s) { return s.phases[p]; });
  }
  b.transfer = per_step(ranks, [](const RankSums& s) { return s.busy - s.wait - s.add; });
  for (const auto& [spread, sum] : kMeans)
    b.*spread = per_step(ranks, [sum = sum](const RankSums& s) { return s.*sum; });
  b.slowest = spread_of(sums.slowest);
  b.slowest_busy = spread_of(sums.slowest_busy).mean;
  return b;
}

std::vector<BucketTimes> bucket_times(std::span<const EpochRecord> epochs) {
  std::vector<std::vector<BucketRecord>> records;  // by bucket
  for (const EpochRecord& epoch : epochs) {
    for (const auto& rank : epoch.bucket_records) {
      for (const BucketRecord& r : rank) {
        records.resize(std::max<std::size_t>(records.size(), r.bucket + 1));
        records[r.bucket].push_back(r);
      }
    }
  }
  std::vector<BucketTimes> times;
  for (const auto& bucket : records) {
    const auto over = [&bucket](auto value) {
      std::vector<double> values;
      for (const BucketRecord& r : bucket) values.push_back(value(r));
      return spread_of(values);
    };
    times.push_back({over([](const BucketRecord& r) { return r.begin - r.ready; }),
                     over([](const BucketRecord& r) { return r.end - r.begin; }),
                     over([](const BucketRecord& r) { return r.wait; }),
                     over([](const BucketRecord& r) { return r.transfer - r.wait; }),
                     over([](const BucketRecord& r) { return r.add; })});
  }
  return times;
}

std::vector<RankTotal> rank_totals(const EpochRecord& epoch, std::size_t global_batch) {
  std::vector<RankTotal> totals;
  for (std::size_t r = 0; r < epoch.step_records.size(); ++r) {
    totals.push_back(rank_total(static_cast<int>(r), epoch.step_records[r], global_batch));
  }
  return totals;
}

SteadyState steady_state(const RunRecord& run) {
  SteadyState steady;
  steady.epochs = steady_stretch(run.epochs);
  steady.includes_warm_up = steady.epochs.empty() && !run.epochs.empty();
  if (steady.includes_warm_up) steady.epochs = std::span(run.epochs).last(1);
  steady.epoch_seconds = median_of(column(steady.epochs, &EpochRecord::seconds));
  steady.images_per_second = median_of(column(steady.epochs, &EpochRecord::images_per_second));
  return steady;
}

std::vector<std::pair<std::string, Spread>> startup_items(const std::vector<RankInfo>& ranks) {
  std::vector<std::pair<std::string, std::vector<double>>> found;
  for (const RankInfo& rank : ranks) {
    for (const auto& [name, seconds] : rank.startup) {
      const auto same = [&name = name](const auto& item) { return item.first == name; };
      auto at = std::find_if(found.begin(), found.end(), same);
      if (at == found.end()) at = found.insert(at, {name, {}});
      at->second.push_back(seconds);
    }
  }
  std::vector<std::pair<std::string, Spread>> items;
  for (const auto& [name, values] : found) items.emplace_back(name, spread_of(values));
  return items;
}

double startup_seconds(const std::vector<RankInfo>& ranks) {
  double longest = 0;
  for (const RankInfo& rank : ranks) longest = std::max(longest, total(rank));
  return longest;
}

std::optional<double> epoch_joules(const EpochRecord& epoch, const RunRecord& run) {
  std::map<std::pair<std::string, std::string>, double> of_gpu;
  for (std::size_t rank = 0; rank < epoch.energy_joules.size() && rank < run.ranks.size(); ++rank) {
    // Ranks that share a GPU read its one counter at nearly the same moments.
    of_gpu[{run.ranks[rank].host, run.ranks[rank].uuid}] = epoch.energy_joules[rank];
    if (std::isnan(epoch.energy_joules[rank])) return std::nullopt;
  }
  if (of_gpu.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& [gpu, joules] : of_gpu) sum += joules;
  return sum;
}

}  // namespace rueda
