#include "bucket_schedule.hpp"

#include <algorithm>

#include "rueda/backend/bucket_plan.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "rueda/model/flops.hpp"

namespace rueda::predict {
namespace {

std::vector<Bucket> schedule_of(const Graph& graph, const std::vector<std::size_t>& ends) {
  const auto completing = completing_nodes(graph, ends);
  const auto all = static_cast<double>(forward_flops(graph));
  std::vector<Bucket> buckets;
  std::size_t begin = 0;
  double done = 0;
  NodeId next = graph.logits();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (; next >= completing[i]; --next) done += static_cast<double>(forward_flops(graph, next));
    buckets.push_back({static_cast<double>((ends[i] - begin) * sizeof(float)), done / all});
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

}  // namespace rueda::predict
