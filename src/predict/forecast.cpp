#include "rueda/predict/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "rueda/backend/gradient_arena.hpp"
#include "rueda/model/flops.hpp"

namespace rueda::predict {
namespace {

std::vector<double> bucket_seconds(const CostModel& model, const Scenario& scenario) {
  Machine messages_alone = model.machine;
  messages_alone.gamma = 0;
  std::vector<double> seconds;
  for (const Bucket& bucket : model.buckets) {
    const auto on = [&](const Machine& machine) {
      return all_reduce_seconds(scenario.scheme, machine, scenario.ranks, bucket.bytes);
    };
    const double delay = scenario.message_delay;
    seconds.push_back(on(model.machine) + (delay > 0 ? on(messages_alone) * delay : 0));
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

Distribution Distribution::of_sample(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("a distribution of no values");
  if (values.size() == 1) return Distribution(values.front());
  std::sort(values.begin(), values.end());
  std::vector<Knot> knots;
  for (const double value : values) {
    knots.push_back({double(knots.size()) / double(values.size() - 1), value});
  }
  return Distribution(std::move(knots));
}

Distribution Distribution::of_spread(const Spread& spread) {
  if (spread.count == 0) throw std::invalid_argument("a distribution of no values");
  return Distribution(
      std::vector<Knot>{{0, spread.min}, {0.5, spread.median}, {0.9, spread.p90}, {1, spread.max}});
}

double Distribution::quantile(double u) const {
  const auto above = std::upper_bound(knots_.begin() + 1, knots_.end() - 1, u,
                                      [](double x, const Knot& knot) { return x < knot.u; });
  const Knot& to = *above;
  const Knot& from = *(above - 1);
  return from.value + (to.value - from.value) * (u - from.u) / (to.u - from.u);
}

double Distribution::expected_max(double count) const {
  double sum = 0;
  for (std::size_t i = 1; i < knots_.size(); ++i) {
    const Knot& a = knots_[i - 1];
    const Knot& b = knots_[i];
    const double slope = (b.value - a.value) / (b.u - a.u);
    sum += (a.value - slope * a.u) * (std::pow(b.u, count) - std::pow(a.u, count)) +
           slope * count / (count + 1) * (std::pow(b.u, count + 1) - std::pow(a.u, count + 1));
  }
  return sum;
}

Distribution Distribution::spread_by(double factor) const {
  const double middle = mean();
  std::vector<Knot> knots = knots_;
  for (Knot& knot : knots) knot.value = middle + factor * (knot.value - middle);
  return Distribution(std::move(knots));
}

std::vector<Bucket> bucket_schedule(const Graph& graph, std::size_t most_bytes) {
  return schedule_of(graph, plan_buckets(graph, {.most_bytes = most_bytes}));
}

std::vector<Bucket> bucket_schedule(const Graph& graph, std::span<const double> bytes) {
  std::vector<std::size_t> ends;
  std::vector<Bucket> unknown;
  std::size_t end = 0;
  for (const double b : bytes) {
    end += std::size_t(b) / sizeof(float);
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
  const auto share = double((images + scenario.ranks - 1) / scenario.ranks);  // the largest
  const double compute = model.compute.compute_seconds(share / micro);
  StepForecast step{.compute = micro * compute, .rest = model.compute.other_seconds(share)};
  const double slowest = model.noise.expected_max(double(scenario.ranks)) / model.noise.mean();
  step.straggling = (step.compute + step.rest) * (slowest - 1);
  const BucketTimes times = run_buckets(model.buckets, bucket_seconds(model, scenario),
                                        model.compute.backward_share * compute, scenario.overlap);
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
  epoch.full =
      epoch.full_steps > 0 ? forecast_step(model, scenario, scenario.global_batch) : epoch.partial;
  epoch.seconds = double(epoch.full_steps) * epoch.full.seconds() + epoch.partial.seconds();
  return epoch;
}

}  // namespace rueda::predict
