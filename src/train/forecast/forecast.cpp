#include "train/forecast/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "base/split.hpp"
#include "train/balance.hpp"

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

/// What a step takes ranks, each without waiting and noise; seconds. Ranks that are alike are one.
struct RankTimes {
  std::vector<double> compute, rest;
  std::size_t alike = 1;

  /// Seconds, and of how many ranks.
  std::map<double, std::size_t> all() const {
    std::map<double, std::size_t> counts;
    for (std::size_t rank = 0; rank < compute.size(); ++rank)
      counts[compute[rank] + rest[rank]] += alike;
    return counts;
  }
};

double mean_of(const std::vector<double>& values) { return sum_of(values) / double(values.size()); }

/// Ranks that are ready with as many images at the same time as these have one, by their mean.
double mean_speed(const std::vector<double>& factors) {
  double sum = 0;
  for (const double factor : factors) sum += 1 / factor;
  return sum / double(factors.size());
}

/// Of ranks as frequent as they were measured. Where they share by speed, they have its mean, so
/// that no number of ranks is faster than so many times one.
std::vector<double> factors_of(const CostModel& model, std::size_t ranks) {
  const std::vector<double>& known = model.rank_factors;
  if (ranks == 1 && model.shares_by_speed) return {1 / mean_speed(known)};
  std::vector<double> factors;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    factors.push_back(known[((2 * rank + 1) * known.size() - 1) / (2 * ranks)]);
  if (!model.shares_by_speed) return factors;
  const double scale = mean_speed(factors) / mean_speed(known);
  for (double& factor : factors) factor *= scale;
  return factors;
}

/// Images of each rank in a full step.
std::vector<std::size_t> shares_of(const CostModel& model, const Scenario& scenario,
                                   const std::vector<double>& factors) {
  if (!scenario.parts.empty()) {
    std::vector<std::size_t> parts = scenario.parts;
    std::ranges::sort(parts, std::greater<>());
    return parts;
  }
  const bool enough = scenario.global_batch >= factors.size();
  if (!model.shares_by_speed || !enough) return std::vector<std::size_t>(factors.size(), 1);
  const ComputeModel& c = model.compute;
  std::vector<RankCost> costs;
  for (const double factor : factors) {
    costs.push_back({c.update + factor * c.fixed * double(scenario.micro_batches),
                     factor * (c.per_image + c.input_per_image)});
  }
  return balanced_images(costs, scenario.global_batch);
}

void add_rank(RankTimes& times, const CostModel& model, const Scenario& scenario, double factor,
              double images) {
  const auto micro = double(scenario.micro_batches);
  times.compute.push_back(factor * micro * model.compute.compute_seconds(images / micro));
  times.rest.push_back(factor * model.compute.input_per_image * images + model.compute.update);
}

RankTimes rank_times(const CostModel& model, const Scenario& scenario, std::size_t images) {
  RankTimes times;
  const std::size_t ranks = scenario.ranks;
  const bool differ = !model.rank_factors.empty();
  if (ranks == 1 || (!differ && scenario.parts.empty())) {
    const double factor = differ ? factors_of(model, 1).front() : 1;
    add_rank(times, model, scenario, factor, double(pieces(images, ranks)));
    times.alike = ranks;
    return times;
  }
  const std::vector<double> factors = differ ? factors_of(model, ranks) : std::vector(ranks, 1.0);
  const std::vector<std::size_t> shares = shares_of(model, scenario, factors);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto mine = double(share_of(images, shares, rank).size());
    add_rank(times, model, scenario, factors[rank], mine);
  }
  return times;
}

/// The mean of the slowest time of ranks, each of which varies as `noise`: the integral of one less
/// the product of their distributions, by the trapezoidal rule.
double slowest_of(const Distribution& noise, const std::map<double, std::size_t>& times) {
  const double most = times.rbegin()->first;
  const double unit = noise.mean();
  if (times.size() == 1) return most * noise.expected_max(double(times.begin()->second)) / unit;
  constexpr int kSteps = 64;
  const double begin = most * noise.quantile(0) / unit;
  const double width = (most * noise.quantile(1) / unit - begin) / kSteps;
  double missed = 0;
  for (int i = 0; i <= kSteps; ++i) {
    double all_done = 1;
    for (const auto& [seconds, count] : times)
      all_done *= std::pow(noise.share_below((begin + i * width) * unit / seconds), double(count));
    missed += (i == 0 || i == kSteps ? 0.5 : 1) * all_done * width;
  }
  return begin + kSteps * width - missed;
}

/// Updates of ranks in the rings of one P, above which one ring has to do.
constexpr std::size_t kManyUpdates = 4'000'000;
constexpr std::size_t kMostRings = 1000;

}  // namespace

StepForecast forecast_step(const CostModel& model, const Scenario& scenario, std::size_t images) {
  const RankTimes times = rank_times(model, scenario, images);
  StepForecast step{.compute = mean_of(times.compute), .rest = mean_of(times.rest)};
  step.straggling = slowest_of(model.noise, times.all()) - step.compute - step.rest;
  const double backward = model.compute.backward_share * std::ranges::max(times.compute) /
                          double(scenario.micro_batches);
  const BucketTimes buckets =
      run_buckets(model.buckets, bucket_seconds(model, scenario), backward, scenario.overlap);
  step.all_reduce = buckets.all_reduce;
  step.exposed = buckets.exposed;
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
