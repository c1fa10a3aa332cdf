#include "record/aggregation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace rueda {
namespace {

/// The sums of the steps of one kind, over epochs.
KindSums kind_sums(Epochs epochs, std::size_t global_batch, StepKind kind) {
  KindSums sums;
  for (const EpochRecord& epoch : epochs) {
    const EpochSums own = sums_of(epoch, global_batch);
    if (kind != StepKind::partial) sums += own.full;
    if (kind != StepKind::full) sums += own.partial;
  }
  return sums;
}

/// These of a rank's sums are averaged over its steps as they are.
constexpr std::array<std::pair<Spread StepBreakdown::*, double RankSums::*>, 7> kMeans = {
    {{&StepBreakdown::step, &RankSums::seconds},
     {&StepBreakdown::busy, &RankSums::busy},
     {&StepBreakdown::wait, &RankSums::wait},
     {&StepBreakdown::add, &RankSums::add},
     {&StepBreakdown::prepare, &RankSums::prepare},
     {&StepBreakdown::copy, &RankSums::copy},
     {&StepBreakdown::copy_bytes, &RankSums::copy_bytes}}};

double seconds_in(const StepRecord& step, Phase phase) { return step.phases[std::size_t(phase)]; }

bool is_resumed(const EpochRecord& epoch) { return epoch.resumed_at_step.has_value(); }
bool took_no_step(const RankSums& rank) { return rank.steps == 0; }

/// Seconds of a mean step, of each rank that took steps.
struct MeanSteps {
  std::vector<std::size_t> ranks;
  std::vector<double> useful;  ///< without the all-reduce
  std::array<std::vector<double>, kPhases> phases;
};

MeanSteps mean_steps(const std::vector<RankSums>& ranks) {
  MeanSteps mean;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankSums& s = ranks[rank];
    if (s.steps == 0) continue;
    mean.ranks.push_back(rank);
    mean.useful.push_back((s.seconds - s.phases[kAllReduce]) / double(s.steps));
    for (std::size_t p = 0; p < kPhases; ++p)
      mean.phases[p].push_back(s.phases[p] / double(s.steps));
  }
  return mean;
}

LateRank late_rank(const std::vector<RankSums>& ranks) {
  LateRank late;
  const MeanSteps mean = mean_steps(ranks);
  if (mean.ranks.size() < 2) return late;
  const auto slot = std::size_t(std::ranges::max_element(mean.useful) - mean.useful.begin());
  late.rank = mean.ranks[slot];
  late.useful = mean.useful[slot] - median_of_others(mean.useful, slot);
  for (std::size_t p = 0; p < kPhases; ++p) {
    const double excess = mean.phases[p][slot] - median_of_others(mean.phases[p], slot);
    if (p == kAllReduce || excess <= late.seconds) continue;
    late.phase = p;
    late.seconds = excess;
  }
  return late;
}

/// Over ranks, of the mean over a rank's steps.
template <typename Value>
Spread per_step(const std::vector<RankSums>& ranks, Value value) {
  std::vector<double> means;
  for (const RankSums& s : ranks) means.push_back(std::invoke(value, s) / double(s.steps));
  return spread_of(means);
}

double transfer_of(const RankSums& s) { return s.busy - s.wait - s.add; }

}  // namespace

bool lacks_cores(const RankInfo& rank) noexcept {
  constexpr double kClockwork = 1e-6;  // cores are shares: 1/3 + 1/3 + 1/3
  return rank.threads > rank.cores * (1 + kClockwork);
}

std::optional<Disturbance> disturbance_in(const EpochRecord& epoch) {
  constexpr std::size_t kInARow = 3;
  std::optional<Disturbance> worst;
  for (std::size_t rank = 0; rank < epoch.step_records.size(); ++rank) {
    Disturbance mine{.rank = rank};
    CoreTime sum;
    std::size_t row = 0;
    std::size_t longest = 0;
    for (const StepRecord& step : epoch.step_records[rank]) {
      if (!is_disturbed(step.cores.share())) {
        row = 0;
        continue;
      }
      longest = std::max(longest, ++row);
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
  if (!found || std::ranges::any_of(ranks, lacks_cores)) return "";
  const RankInfo& rank = ranks.at(found->rank);
  const int threads = rank.threads;
  std::string cores = fmt::format("{} core", threads);
  if (threads != 1) cores += "s";
  std::string remedy;
  if (threads > 1) remedy = fmt::format(", or lower --threads from {}", threads);
  return fmt::format(
      "rank {} on {} got {:.0f} % of the time of its {} in {} of {} steps of epoch {}: "
      "other "
      "programs, a CPU quota or other virtual machines took the rest, and its times do not show "
      "what the machine can do; give it cores of its own (top shows who has them; in Slurm "
      "#SBATCH --exclusive){}",
      found->rank, rank.host, 100 * found->share, cores, found->steps,
      epoch.step_records.at(found->rank).size(), epoch.epoch, remedy);
}

EpochSums sums_of(const EpochRecord& epoch, std::size_t global_batch) {
  if (epoch.released) return epoch.sums;
  return sum_up(epoch.step_records, global_batch);
}

StepBreakdown break_down(Epochs epochs, std::size_t global_batch, StepKind kind) {
  KindSums sums = kind_sums(epochs, global_batch, kind);
  StepBreakdown b;
  if (!sums.ranks.empty()) b.steps = sums.ranks.front().steps;
  b.latest = late_rank(sums.ranks);
  std::erase_if(sums.ranks, took_no_step);
  for (std::size_t p = 0; p < kPhases; ++p)
    b.phases[p] = per_step(sums.ranks, [p](const RankSums& s) { return s.phases[p]; });
  b.transfer = per_step(sums.ranks, transfer_of);
  for (const auto& [spread, sum] : kMeans) b.*spread = per_step(sums.ranks, sum);
  b.slowest = spread_of(sums.slowest);
  b.slowest_busy = spread_of(sums.slowest_busy).mean;
  if (sums.least_exposed.size() == sums.slowest.size())
    b.exposed_transfer = spread_of(sums.least_exposed).mean;
  return b;
}

SteadyState steady_state(const RunRecord& run) {
  SteadyState steady;
  steady.epochs = steady_stretch(std::span(run.epochs), is_resumed, &EpochRecord::ranks);
  steady.includes_warm_up = steady.epochs.empty() && !run.epochs.empty();
  if (steady.includes_warm_up) steady.epochs = std::span(run.epochs).last(1);
  steady.ranks = run.ranks.size();
  steady.epoch_seconds = median_of(values_of(steady.epochs, &EpochRecord::seconds));
  double images = NAN;
  if (!steady.epochs.empty()) {
    steady.ranks = steady.epochs.back().ranks;
    images = double(steady.epochs.back().train.samples);
  }
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
  if (epoch.released || records.empty() || epoch.resumed_at_step.value_or(0) > 0) return result;
  std::vector<double> useful(records.size());
  std::vector<double> clocks(records.size());
  for (std::size_t step = 0; step < records.front().size(); ++step) {
    double summed = 0;  // when the last rank is there
    for (std::size_t rank = 0; rank < records.size(); ++rank) {
      const StepRecord& s = records[rank].at(step);
      const double own = s.seconds - seconds_in(s, Phase::all_reduce);
      const double after = seconds_in(s, Phase::optimizer) + seconds_in(s, Phase::other);
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
      auto item = std::ranges::find(found, name, &decltype(found)::value_type::first);
      if (item == found.end()) item = found.insert(item, {name, {}});
      item->second.push_back(seconds);
    }
  }
  std::vector<std::pair<std::string, Spread>> items;
  for (const auto& [name, values] : found) items.emplace_back(name, spread_of(values));
  return items;
}

double startup_seconds(const std::vector<RankInfo>& ranks) {
  double longest = 0;
  for (const RankInfo& rank : ranks) {
    double seconds = 0;
    for (const auto& [item, time] : rank.startup) seconds += time;
    longest = std::max(longest, seconds);
  }
  return longest;
}

double training_seconds(const RunRecord& run) {
  return sum_of(values_of(run.epochs, &EpochRecord::seconds));
}

double evaluation_seconds(const RunRecord& run) {
  double seconds = 0;
  for (const EpochRecord& epoch : run.epochs) seconds += epoch.test.value_or(Score()).seconds;
  return seconds;
}

double bookkeeping_seconds(const RunRecord& run) {
  return sum_of(values_of(run.epochs, &EpochRecord::bookkeeping_seconds));
}

double clock_seconds(const RunRecord& run) {
  return sum_of(values_of(run.epochs, &EpochRecord::clock_seconds));
}

Energy run_energy(const RunRecord& run) {
  if (run.epochs.empty()) return {};
  const auto energies = values_of(run.epochs, &EpochRecord::energy);
  return std::accumulate(energies.begin(), energies.end(), Energy{0, 0});
}

}  // namespace rueda
