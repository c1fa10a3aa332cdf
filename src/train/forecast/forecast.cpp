#include "train/forecast/forecast.hpp"

#include <algorithm>

#include "base/split.hpp"

namespace rueda::cost {
namespace {

std::vector<double> bucket_seconds(const CostModel& model, const Scenario& scenario) {
  Machine messages_alone = model.machine;
  messages_alone.gamma = 0;
  std::vector<double> seconds;
  for (const Bucket& bucket : model.buckets) {
    double sum = all_reduce_seconds(scenario.scheme, model.machine, scenario.ranks, bucket.bytes);
    if (scenario.message_delay > 0) {
      sum += scenario.message_delay *
             all_reduce_seconds(scenario.scheme, messages_alone, scenario.ranks, bucket.bytes);
    }
    seconds.push_back(sum);
  }
  return seconds;
}

/// Updates of ranks in the rings of one P, above which one ring has to do.
constexpr std::size_t kManyUpdates = 4'000'000;
constexpr std::size_t kMostRings = 1000;

}  // namespace

StepForecast forecast_step(const CostModel& model, const Scenario& scenario, std::size_t images) {
  const auto micro = double(scenario.micro_batches);
  const auto share = double(pieces(images, scenario.ranks));          // the largest
  const bool by_speed = model.shares_by_speed && scenario.ranks > 1;  // one has nothing to share
  ComputeModel of_rank = model.compute;
  if (by_speed) of_rank.slow_down_images(model.by_speed->images);
  const double compute = of_rank.compute_seconds(share / micro);
  StepForecast step{.compute = micro * compute, .rest = of_rank.other_seconds(share)};
  const Distribution& noise = by_speed ? model.by_speed->noise : model.noise;
  const double slowest = noise.expected_max(double(scenario.ranks)) / noise.mean();
  step.straggling = (step.compute + step.rest) * (slowest - 1);
  const BucketTimes times = run_buckets(model.buckets, bucket_seconds(model, scenario),
                                        of_rank.backward_share * compute, scenario.overlap);
  step.all_reduce = times.all_reduce;
  step.exposed = times.exposed;
  return step;
}

EpochForecast forecast_epoch(const CostModel& model, const Scenario& scenario) {
  EpochForecast epoch{.scenario = scenario,
                      .full_steps = scenario.images / scenario.global_batch,
                      .partial_images = scenario.images % scenario.global_batch};
  if (epoch.partial_images > 0)
    epoch.partial = forecast_step(model, scenario, epoch.partial_images);
  epoch.full = epoch.partial;
  if (epoch.full_steps > 0) epoch.full = forecast_step(model, scenario, scenario.global_batch);
  epoch.seconds = double(epoch.full_steps) * epoch.full.seconds() + epoch.partial.seconds();
  return epoch;
}

double SimulatedSum::delay(double gamma) const noexcept {
  if (ranks == 1) return 0;
  return std::max(0.0, (noisy - closed) / (closed - added_bytes(ranks, bytes) * gamma));
}

SimulatedSum simulate_sum(const CostModel& model, std::size_t ranks, std::uint64_t seed) {
  SimulatedSum sum{.ranks = ranks,
                   .bytes = std::ranges::max(model.buckets, {}, &Bucket::bytes).bytes};
  sum.closed = ring_seconds(model.machine, ranks, sum.bytes);
  if (ranks <= 1) return sum;
  const auto steps = double(ranks - 1);
  const double adds = added_bytes(ranks, sum.bytes) * model.machine.gamma;
  RingSimulation ring{ranks, (sum.closed - adds) / (2 * steps), adds / steps, 0, seed};
  sum.quiet = simulate_ring(ring);
  ring.noise = model.message_noise;
  sum.rings = std::clamp<std::size_t>(kManyUpdates / (2 * ranks * ranks), 1, kMostRings);
  for (std::size_t i = 0; i < sum.rings; ++i, ++ring.seed) sum.noisy += simulate_ring(ring);
  sum.noisy /= double(sum.rings);
  return sum;
}

}  // namespace rueda::cost
