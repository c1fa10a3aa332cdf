#include "rueda/predict/forecast.hpp"

#include <algorithm>

namespace rueda::predict {
namespace {

/// Images of the rank that has most.
double largest_share(std::size_t images, std::size_t ranks) {
  return static_cast<double>((images + ranks - 1) / ranks);
}

std::vector<double> bucket_seconds(const CostModel& model, const Scenario& scenario) {
  std::vector<double> seconds;
  for (const Bucket& bucket : model.buckets) {
    double sum = all_reduce_seconds(scenario.scheme, model.machine, scenario.ranks, bucket.bytes);
    if (scenario.message_delay > 0) {
      Machine noiseless = model.machine;
      noiseless.gamma = 0;
      const double messages =
          all_reduce_seconds(scenario.scheme, noiseless, scenario.ranks, bucket.bytes);
      sum += messages * scenario.message_delay;
    }
    seconds.push_back(sum);
  }
  return seconds;
}

}  // namespace

StepForecast forecast_step(const CostModel& model, const Scenario& scenario, std::size_t images) {
  const auto micro = static_cast<double>(scenario.micro_batches);
  const double share = largest_share(images, scenario.ranks);
  StepForecast step;
  step.compute = micro * model.compute.compute_seconds(share / micro);
  step.rest = model.compute.other_seconds(share);
  const double slowest =
      model.noise.expected_max(static_cast<double>(scenario.ranks)) / model.noise.mean();
  step.straggling = (step.compute + step.rest) * (slowest - 1);
  const double backward =
      model.compute.backward_share * model.compute.compute_seconds(share / micro);
  const BucketTimes times =
      run_buckets(model.buckets, bucket_seconds(model, scenario), backward, scenario.overlap);
  step.all_reduce = times.all_reduce;
  step.exposed = times.exposed;
  return step;
}

EpochForecast forecast_epoch(const CostModel& model, const Scenario& scenario) {
  EpochForecast epoch;
  epoch.scenario = scenario;
  epoch.full_steps = scenario.images / scenario.global_batch;
  epoch.partial_images = scenario.images % scenario.global_batch;
  if (epoch.partial_images > 0)
    epoch.partial = forecast_step(model, scenario, epoch.partial_images);
  epoch.full =
      epoch.full_steps > 0 ? forecast_step(model, scenario, scenario.global_batch) : epoch.partial;
  epoch.seconds =
      static_cast<double>(epoch.full_steps) * epoch.full.seconds() + epoch.partial.seconds();
  return epoch;
}

}  // namespace rueda::predict
