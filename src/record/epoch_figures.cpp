#include <algorithm>
#include <cmath>
#include <ranges>
#include <span>
#include <utility>

#include "record/run_fields.hpp"
#include "record/run_figures.hpp"
#include "record/run_json.hpp"
#include "train/checks/divergence.hpp"

namespace rueda {
namespace {

/// The full steps of one rank, for the figures that are no sums.
struct FullSteps {
  std::vector<double> seconds;
  std::vector<double> compute;  ///< without what it waited for the all-reduce
};

RankFigures rank_figures(const std::vector<StepRecord>& steps, std::size_t rank,
                         std::size_t global_batch) {
  RankFigures figures;
  FullSteps full;
  for (const StepRecord& s : steps) {
    figures.sums += s;
    if (!is_kind(s, global_batch, StepKind::full)) continue;
    full.seconds.push_back(s.seconds);
    full.compute.push_back(s.seconds - s.phases[std::size_t(Phase::all_reduce)]);
  }
  figures.rank = rank;
  figures.core_share = figures.sums.cores_got / figures.sums.cores_wanted;
  figures.full_step = spread_of(full.seconds);
  figures.full_compute = spread_of(full.compute);
  return figures;
}

std::array<Spread, kPhases> spread_over(const std::vector<RankFigures>& ranks) {
  std::array<Spread, kPhases> phases;
  for (std::size_t p = 0; p < kPhases; ++p) {
    std::vector<double> seconds;
    for (const RankFigures& rank : ranks) seconds.push_back(rank.sums.phases[p]);
    phases[p] = spread_of(seconds);
  }
  return phases;
}

/// NaN where a rank does not know it.
Spread spread_of_known(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return spread_of(values);
}

double useful_seconds(const RankFigures& rank) {
  return rank.sums.seconds - rank.sums.phases[kAllReduce];
}

OverRanks over_ranks(const std::vector<RankFigures>& ranks) {
  const std::vector<RankSums> sums = values_of(ranks, &RankFigures::sums);
  const std::vector<double> useful = values_of(ranks, useful_seconds);
  OverRanks over{.seconds = spread_of(values_of(sums, &RankSums::seconds)),
                 .useful = spread_of(useful),
                 .wait = spread_of(values_of(sums, &RankSums::wait)),
                 .core_share = spread_of_known(values_of(ranks, &RankFigures::core_share))};
  if (!useful.empty())
    over.slowest = std::size_t(std::ranges::max_element(useful) - useful.begin());
  return over;
}

/// Seconds of one bucket in a step of a rank: complete until its all-reduce
/// began, the all-reduce, and of this waiting for later ranks, messages,
/// adding.
struct BucketTimes {
  std::vector<double> queued, busy, wait, transfer, add;

  explicit BucketTimes(std::size_t records) {
    for (std::vector<double>* times : {&queued, &busy, &wait, &transfer, &add})
      times->reserve(records);
  }

  void add_record(const BucketRecord& r) {
    queued.push_back(r.begin - r.ready);
    busy.push_back(r.end - r.begin);
    wait.push_back(r.wait);
    transfer.push_back(r.transfer - r.wait);
    add.push_back(r.add);
  }

  BucketFigures figures() const {
    return {.queued = spread_of(queued),
            .busy = spread_of(busy),
            .wait = spread_of(wait),
            .transfer = spread_of(transfer),
            .add = spread_of(add)};
  }
};

/// Over steps and ranks.
std::vector<BucketFigures> bucket_figures(const EpochRecord& epoch, const RunRecord& run) {
  if (epoch.released) return epoch.all_steps.buckets;
  std::vector<BucketTimes> times;
  const std::size_t records = epoch.bucket_records.size() * epoch.steps;
  for (const BucketRecord& r : epoch.bucket_records | std::views::join) {
    while (times.size() <= r.bucket) times.emplace_back(records);
    times[r.bucket].add_record(r);
  }
  std::vector<BucketFigures> buckets = values_of(times, &BucketTimes::figures);
  const std::size_t known = std::min(buckets.size(), run.bucket_bytes.size());
  for (std::size_t i = 0; i < known; ++i) buckets[i].bytes = double(run.bucket_bytes[i]);
  return buckets;
}

/// Buckets are those of the last epoch.
AllSteps all_steps(Epochs epochs, const RunRecord& run) {
  AllSteps all;
  all.mean = break_down(epochs, run.global_batch, StepKind::all);
  std::size_t ranks = run.ranks.size();
  if (!epochs.empty()) {
    ranks = epochs.back().ranks;
    all.buckets = bucket_figures(epochs.back(), run);
  }
  all.bytes = double(run.gradient_bytes);
  if (const auto rate = bandwidth(all.bytes, all.mean.slowest_busy, ranks)) {
    all.algbw = rate->algbw;
    all.busbw = rate->busbw;
  }
  return all;
}

}  // namespace

void release_steps(EpochRecord& epoch, const RunRecord& run) {
  if (epoch.released) return;
  const Epochs one(&epoch, 1);
  for (std::size_t rank = 0; rank < epoch.step_records.size(); ++rank)
    epoch.of_ranks.push_back(rank_figures(epoch.step_records[rank], rank, run.global_batch));
  epoch.phases = spread_over(epoch.of_ranks);
  epoch.over_ranks = over_ranks(epoch.of_ranks);
  epoch.efficiency = efficiency_seconds(epoch);
  epoch.sums = sum_up(epoch.step_records, run.global_batch);
  epoch.all_steps.buckets = bucket_figures(epoch, run);
  epoch.step_records = {};
  epoch.bucket_records = {};
  epoch.clocks = {};
  epoch.released = true;
  // What follows takes the sums, so the steps of many ranks are added up once.
  epoch.full_step = break_down(one, run.global_batch, StepKind::full);
  epoch.partial_step = break_down(one, run.global_batch, StepKind::partial);
  epoch.all_steps = all_steps(one, run);
}

namespace {

bool is_first(const EpochRecord& epoch) {
  return epoch.epoch == 1 || epoch.resumed_at_step.has_value();
}

}  // namespace

void drop_rows(std::vector<EpochRecord>& epochs) {
  EpochRecord& last = epochs.back();
  if (last.ranks > kMostRanksInJson) {
    last.of_ranks = {};
    last.rank_energy = {};
  }
  if (epochs.size() < 2) return;
  EpochRecord& before = epochs[epochs.size() - 2];
  if (is_first(last)) {
    if (is_first(before)) before.sums = {};
  } else if (is_first(before)) {  // others count from here on
    for (EpochRecord& epoch : std::span(epochs).first(epochs.size() - 1)) epoch.sums = {};
  } else {
    before.sums += last.sums;
    last.sums = std::exchange(before.sums, {});
  }
}

RunSummary summary_of(const RunRecord& run) {
  const SteadyState steady = steady_state(run);
  std::optional<GradientNoise> noise;
  if (!run.epochs.empty()) noise = run.epochs.back().gradient_noise;
  return {.outcome = run.outcome,
          .failure = text_or_null(&RunRecord::failure)(run),
          .diverged = ended_diverged(std::span(run.epochs), run.classes),
          .epochs = run.epochs.size(),
          .epoch_seconds = steady.epoch_seconds,
          .images_per_second = steady.images_per_second,
          .includes_warm_up = steady.includes_warm_up,
          .full_step = break_down(steady.epochs, run.global_batch, StepKind::full),
          .efficiency = steady.efficiency,
          .all_steps = all_steps(steady.epochs, run),
          .startup_seconds = startup_seconds(run.ranks),
          .training_seconds = training_seconds(run),
          .evaluation_seconds = evaluation_seconds(run),
          .bookkeeping_seconds = bookkeeping_seconds(run),
          .clock_seconds = clock_seconds(run),
          .total_seconds = run.total_seconds,
          .seconds_to_target = run.seconds_to_target,
          .energy = run_energy(run),
          .gradient_noise = noise};
}

}  // namespace rueda
