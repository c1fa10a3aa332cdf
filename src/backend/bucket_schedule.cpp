#include "backend/bucket_schedule.hpp"

#include <algorithm>
#include <limits>

#include "model/flops.hpp"
#include "rueda/backend/gradient_arena.hpp"

namespace rueda::cost {
namespace {

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

std::vector<Bucket> bucket_schedule(const Graph& graph, std::span<const std::size_t> bytes) {
  std::vector<std::size_t> ends;
  std::vector<Bucket> unknown;
  std::size_t end = 0;
  for (const std::size_t b : bytes) {
    end += b / sizeof(float);
    ends.push_back(end);
    unknown.push_back({double(b), 1});
  }
  const std::size_t slots = end - GradientLayout(graph).slots_offset();
  if (slots > kMostSlots * kSlotFloats) return unknown;
  return schedule_of(graph, ends);
}

BucketTimes run_buckets(std::span<const Bucket> buckets, std::span<const double> seconds,
                        double backward, bool overlap) {
  BucketTimes times;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    double ready = backward;
    if (overlap) ready *= buckets[i].ready;
    times.ended = std::max(times.ended, ready) + seconds[i];
    times.all_reduce += seconds[i];
  }
  times.exposed = std::max(0.0, times.ended - backward);
  return times;
}

double choose_bucket_mb(const Graph& graph, const Link& sum, double backward) {
  constexpr double kAsGood = 1.01;
  double chosen = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const double mb : {0.0, 50.0, 25.0, 18.0, 12.0, 10.0, 8.0, 5.0, 3.0, 2.0, 1.0, 0.5, 0.2}) {
    const auto buckets = bucket_schedule(graph, std::size_t(mb * 1e6));
    std::vector<double> seconds;
    for (const Bucket& bucket : buckets) seconds.push_back(sum.message_seconds(bucket.bytes));
    const double ended = run_buckets(buckets, seconds, backward, true).ended;
    if (ended * kAsGood >= least) continue;
    least = ended;
    chosen = mb;
  }
  return chosen;
}

}  // namespace rueda::cost
