#include "rueda/predict/forecast.hpp"

#include <algorithm>

#include "rueda/backend/bucket_plan.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "rueda/model/flops.hpp"

namespace rueda::predict {
namespace {

/// Images of the rank that has most.
double largest_share(std::size_t images, std::size_t ranks) {
  return double((images + ranks - 1) / ranks);
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

std::vector<Bucket> schedule_of(const Graph& graph, const std::vector<std::size_t>& ends) {
  const auto completing = completing_nodes(graph, ends);
  const auto all = double(forward_flops(graph));
  std::vector<Bucket> buckets;
  std::size_t begin = 0;
  double done = 0;
  NodeId next = graph.logits();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (; next >= completing[i]; --next) done += double(forward_flops(graph, next));
    buckets.push_back({double((ends[i] - begin) * sizeof(float)), done / all});
    begin = ends[i];
  }
  return buckets;
}

}  // namespace

std::vector<Bucket> bucket_schedule(const Graph& graph, std::size_t most_bytes) {
  return schedule_of(graph, plan_buckets(graph, {.most_bytes = most_bytes}));
}

std::vector<Bucket> bucket_schedule(const Graph& graph, std::span<const double> bytes) {
  std::vector<std::size_t> ends;
  std::vector<Bucket> unknown;
  std::size_t end = 0;
  for (const double b : bytes) {
    end += static_cast<std::size_t>(b) / sizeof(float);
    ends.push_back(end);
    unknown.push_back({b, 1});
  }
  return end == GradientLayout(graph).total() ? schedule_of(graph, ends) : unknown;
}

BucketTimes run_buckets(std::span<const Bucket> buckets, std::span<const double> seconds,
                        double backward, bool overlap) {
  BucketTimes times;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const double ready = overlap ? buckets[i].ready * backward : backward;
    times.ended = std::max(times.ended, ready) + seconds[i];
    times.all_reduce += seconds[i];
  }
  times.exposed = std::max(0.0, times.ended - backward);
  return times;
}

StepForecast forecast_step(const CostModel& model, const Scenario& scenario, std::size_t images) {
  const auto micro = double(scenario.micro_batches);
  const double share = largest_share(images, scenario.ranks);
  StepForecast step;
  step.compute = micro * model.compute.compute_seconds(share / micro);
  step.rest = model.compute.other_seconds(share);
  const double slowest = model.noise.expected_max(double(scenario.ranks)) / model.noise.mean();
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
  epoch.seconds = double(epoch.full_steps) * epoch.full.seconds() + epoch.partial.seconds();
  return epoch;
}

}  // namespace rueda::predict
