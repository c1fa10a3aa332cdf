#include "record/aggregation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace rueda {
namespace {

/// Of one kind, over epochs.
KindSums sums_of(Epochs epochs, std::size_t global_batch, StepKind kind) {
  KindSums sums;
  for (const EpochRecord& epoch : epochs) {
    const EpochSums own = epoch.written ? epoch.sums : sum_up(epoch.step_records, global_batch);
    if (kind != StepKind::partial) sums += own.full;
    if (kind != StepKind::full) sums += own.partial;
  }
  return sums;
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

LateRank late_rank(const std::vector<RankSums>& ranks) {
  LateRank late;
  std::vector<std::size_t> of;  // those that took steps
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank].steps > 0) of.push_back(rank);
  if (of.size() < 2) return late;
  const auto per_step = [&](auto seconds) {
    return values_of(of, [&](std::size_t r) { return seconds(ranks[r]) / double(ranks[r].steps); });
  };
  const auto useful = per_step([](const RankSums& s) { return s.seconds - s.phases[kAllReduce]; });
  const auto slot = std::size_t(std::ranges::max_element(useful) - useful.begin());
  late.rank = of[slot];
  late.useful = useful[slot] - median_of_others(useful, slot);
  for (std::size_t p = 0; p < kPhases; ++p) {
    const auto seconds = per_step([p](const RankSums& s) { return s.phases[p]; });
    const double excess = seconds[slot] - median_of_others(seconds, slot);
    if (p == kAllReduce || excess <= late.seconds) continue;
    late.phase = p;
    late.seconds = excess;
  }
  return late;
}

}  // namespace

std::optional<Disturbance> disturbance_in(const EpochRecord& epoch) {
  constexpr std::size_t kInARow = 3;
  std::optional<Disturbance> worst;
  for (std::size_t rank = 0; rank < epoch.step_records.size(); ++rank) {
    Disturbance mine{.rank = rank};
    CoreTime sum;
    std::size_t row = 0;
    std::size_t longest = 0;
    for (const StepRecord& step : epoch.step_records[rank]) {
      const bool disturbed = is_disturbed(step.cores.share());
      row = disturbed ? row + 1 : 0;
      longest = std::max(longest, row);
      if (!disturbed) continue;
      ++mine.steps;
      sum.got += step.cores.got;
      sum.wanted += step.cores.wanted;
    }
    mine.share = sum.share();
    if (longest >= kInARow && (!worst || mine.share < worst->share)) worst = mine;
  }
  return worst;
}

std::string disturbance_text(const EpochRecord& epoch, const std::vector<RankInfo>& ranks) {
  const auto found = disturbance_in(epoch);
  if (!found) return "";
  const RankInfo& rank = ranks.at(found->rank);
  return fmt::format(
      "rank {} on {} got {:.0f} % of the time of its {} core{} in {} of {} steps of epoch {}: "
      "other "
      "programs, a CPU quota or other virtual machines took the rest, and its times do not show "
      "what the machine can do; give it cores of its own (top shows who has them; in Slurm "
      "#SBATCH --exclusive){}",
      found->rank, rank.host, 100 * found->share, rank.threads, rank.threads == 1 ? "" : "s",
      found->steps, epoch.step_records.at(found->rank).size(), epoch.epoch,
      rank.threads > 1 ? fmt::format(", or lower --threads from {}", rank.threads) : "");
}

StepBreakdown break_down(Epochs epochs, std::size_t global_batch, StepKind kind) {
  KindSums sums = sums_of(epochs, global_batch, kind);
  StepBreakdown b;
  b.steps = sums.ranks.empty() ? 0 : sums.ranks.front().steps;
  b.latest = late_rank(sums.ranks);
  std::erase_if(sums.ranks, [](const RankSums& s) { return s.steps == 0; });
  const auto per_step = [&sums](auto value) {
    return spread_of(values_of(sums.ranks, [&value](const RankSums& s) {
      return std::invoke(value, s) / double(s.steps);
    }));
  };
  for (std::size_t p = 0; p < kPhases; ++p)
    b.phases[p] = per_step([p](const RankSums& s) { return s.phases[p]; });
  b.transfer = per_step([](const RankSums& s) { return s.busy - s.wait - s.add; });
  for (const auto& [spread, sum] : kMeans) b.*spread = per_step(sum);
  b.slowest = spread_of(sums.slowest);
  b.slowest_busy = spread_of(sums.slowest_busy).mean;
  return b;
}

SteadyState steady_state(const RunRecord& run) {
  SteadyState steady;
  steady.epochs = steady_stretch(
      std::span(run.epochs), [](const EpochRecord& e) { return e.resumed_at_step.has_value(); },
      &EpochRecord::ranks);
  steady.includes_warm_up = steady.epochs.empty() && !run.epochs.empty();
  if (steady.includes_warm_up) steady.epochs = std::span(run.epochs).last(1);
  steady.ranks = steady.epochs.empty() ? run.ranks.size() : steady.epochs.back().ranks;
  steady.epoch_seconds = median_of(values_of(steady.epochs, &EpochRecord::seconds));
  const double images = steady.epochs.empty() ? NAN : double(steady.epochs.back().train.samples);
  steady.images_per_second = images / steady.epoch_seconds;
  steady.efficiency = median_epoch(values_of(steady.epochs, efficiency_seconds));
  return steady;
}

/// The steps are replayed on an ideal network, whose messages take no time. A
/// rank still waits: no rank has the sum before all have begun it. The last
/// bucket is complete when backward ends, so its sum ends when the last rank is
/// there, and the buckets before it delay no rank, with or without overlap.
EfficiencySeconds efficiency_seconds(const EpochRecord& epoch) {
  EfficiencySeconds result = epoch.efficiency;
  result.seconds = epoch.seconds;
  const auto& records = epoch.step_records;
  if (epoch.written || records.empty() || epoch.resumed_at_step.value_or(0) > 0) return result;
  const auto in = [](const StepRecord& s, Phase phase) { return s.phases[std::size_t(phase)]; };
  std::vector<double> useful(records.size());
  std::vector<double> clocks(records.size());
  for (std::size_t step = 0; step < records.front().size(); ++step) {
    double summed = 0;  // when the last rank is there
    for (std::size_t rank = 0; rank < records.size(); ++rank) {
      const StepRecord& s = records[rank].at(step);
      const double own = s.seconds - in(s, Phase::all_reduce);
      const double after = in(s, Phase::optimizer) + in(s, Phase::other);
      useful[rank] += own;
      summed = std::max(summed, clocks[rank] + own - after);
      clocks[rank] = after;  // after the sum
    }
    for (double& clock : clocks) clock += summed;
  }
  result.useful_mean = spread_of(useful).mean;
  result.useful_max = std::ranges::max(useful);
  result.ideal_network = std::ranges::max(clocks);
  return result;
}

EfficiencySeconds median_epoch(std::vector<EfficiencySeconds> epochs) {
  if (epochs.empty()) return {};
  std::ranges::sort(epochs, {}, &EfficiencySeconds::seconds);
  EfficiencySeconds middle = epochs[epochs.size() / 2];
  for (const auto seconds : {&EfficiencySeconds::useful_mean, &EfficiencySeconds::useful_max,
                             &EfficiencySeconds::ideal_network, &EfficiencySeconds::seconds})
    middle.*seconds = (middle.*seconds + epochs[(epochs.size() - 1) / 2].*seconds) / 2;
  return middle;
}

std::vector<std::pair<std::string, Spread>> startup_items(const std::vector<RankInfo>& ranks) {
  std::vector<std::pair<std::string, std::vector<double>>> found;
  for (const RankInfo& rank : ranks) {
    for (const auto& [name, seconds] : rank.startup) {
      auto& item = group_of(found, [&](const auto& one) { return one.first == name; });
      item.first = name;
      item.second.push_back(seconds);
    }
  }
  std::vector<std::pair<std::string, Spread>> items;
  for (const auto& [name, values] : found) items.emplace_back(name, spread_of(values));
  return items;
}

double startup_seconds(const std::vector<RankInfo>& ranks) {
  double longest = 0;
  for (const RankInfo& rank : ranks) {
    const auto seconds = values_of(rank.startup, [](const auto& item) { return item.second; });
    longest = std::max(longest, sum_of(seconds));
  }
  return longest;
}

double training_seconds(const RunRecord& run) {
  return sum_of(values_of(run.epochs, &EpochRecord::seconds));
}

double evaluation_seconds(const RunRecord& run) {
  return sum_of(
      values_of(run.epochs, [](const EpochRecord& e) { return e.test ? e.test->seconds : 0; }));
}

Energy run_energy(const RunRecord& run) {
  if (run.epochs.empty()) return {};
  const auto energies = values_of(run.epochs, &EpochRecord::energy);
  return std::accumulate(energies.begin(), energies.end(), Energy{0, 0});
}

}  // namespace rueda
