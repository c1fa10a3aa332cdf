// Replica::compute, whose work a device may record the second time and replay from then on.
#include <catch2/catch.hpp>

#include "../support/replica_bench.hpp"
#include "../support/small_graphs.hpp"
#include "base/error.hpp"

namespace rueda::test {
namespace {

constexpr int kReplayedSide = 9;
constexpr float kScale = 0.25F;
using Indices = std::vector<std::uint32_t>;

/// A replica that is computed, and one that goes step by step.
struct Pair {
  Pair(const Graph& graph, const ImageSet& images, Precision precision)
      : computed(graph, images, some_parameters(graph), {2, 4}, {2}, repeatable_variant(),
                 precision),
        stepped(graph, images, some_parameters(graph), {2, 4}, {2}, repeatable_variant(),
                precision) {}

  void check(const Indices& indices, float scale) {
    computed.load(indices);
    computed.replica().compute(scale);
    stepped.step(indices, scale);
    CHECK(computed.gradients() == stepped.gradients());
  }

  ReplicaBench computed, stepped;
};

void check_replays(Precision precision) {
  const ImageSet images = random_images(8);
  for (const SmallGraph& small : small_graphs()) {
    CAPTURE(small.name);
    const Graph graph = small.build(kReplayedSide);
    Pair pair(graph, images, precision);
    for (const Indices& indices :
         {Indices{0, 1, 2, 3}, Indices{4, 5, 6, 7}, Indices{3, 2, 1, 0}, Indices{7, 0, 6, 1}}) {
      pair.check(indices, kScale);
    }
  }
}

TEST_CASE_OF_PRECISION("replica: computed four times, the same bits as step by step",
                       "[backend][replica]", check_replays)

TEST_CASE("replica: what changes between computations is seen", "[backend][replica]") {
  const ImageSet images = random_images(8);
  const Graph graph = small_preactivation(kReplayedSide);
  Pair pair(graph, images, Precision::fp32);
  const Indices four = {0, 1, 2, 3};
  for (int i = 0; i < 3; ++i) pair.check(four, kScale);
  pair.check(four, 2 * kScale);
  const std::vector<float> other = to_floats(some_parameters(graph, 32));
  pair.computed.set_parameters(other);
  pair.stepped.set_parameters(other);
  pair.check(four, kScale);
  for (int i = 0; i < 4; ++i) {  // another batch size, with a recording of its own
    pair.check({6, 5}, kScale);
    pair.check({7, 5, 4, 3}, kScale);
    CHECK(pair.computed.infer({1, 2}).loss == pair.stepped.infer({1, 2}).loss);
  }
  pair.check({}, kScale);
  pair.check(four, kScale);
}

TEST_CASE("replica: the device's seconds of a computation", "[backend][replica]") {
  const Graph graph = small_projection(kReplayedSide);
  const ImageSet images = random_images(4);
  ReplicaBench bench(graph, images, some_parameters(graph), {2});
  for (int i = 0; i < 4; ++i) {
    bench.load({0, 1});
    const ComputeSeconds seconds = bench.replica().compute(kScale);
    CHECK(seconds.load >= 0);
    CHECK(seconds.forward > 0);
    CHECK(seconds.loss > 0);
    CHECK(seconds.backward > 0);
  }
  bench.load({});
  CHECK(bench.replica().compute(kScale).forward == 0);
}

std::vector<std::size_t> end_of_each_parameter(const Graph& graph) {
  std::vector<std::size_t> ends;
  for (const Parameter& p : graph.parameters()) ends.push_back(p.offset + p.count);
  return ends;
}

TEST_CASE("announcements: once a bucket and step, in recorded steps too", "[backend][replica]") {
  const Graph graph = small_preactivation(quick_image_size());
  const ImageSet images = random_images(4);
  ReplicaBench bench(graph, images, random_vector(3, graph.parameter_count(), 0.3), {4});
  Replica& replica = bench.replica();
  const auto ends = end_of_each_parameter(graph);
  replica.announce_buckets(ends);
  for (std::uint64_t step = 1; step <= 4; ++step) {
    bench.load({0, 1, 2, 3});
    replica.compute(0.25F);
    for (std::size_t bucket = 0; bucket < ends.size(); ++bucket)
      CHECK(bench.backend().announced(bucket) == step);
    CHECK(bench.backend().announced(ends.size()) == 0);
  }
}

/// Of the last of two micro-batches: what the first left must not be measured.
float part_squares(Precision precision, bool in_buckets) {
  const Graph graph = small_projection(kReplayedSide);
  const ImageSet images = random_images(8);
  ReplicaBench bench(graph, images, some_parameters(graph), {4}, {}, repeatable_variant(),
                     precision);
  bench.replica().measure_norms(true);
  if (in_buckets) bench.replica().announce_buckets(end_of_each_parameter(graph));
  for (const Indices& indices : {Indices{0, 1, 2, 3}, Indices{4, 5, 6, 7}}) {
    bench.load(indices);
    bench.replica().compute(kScale);
  }
  bench.replica().read_step_sums();
  bench.backend().finish();
  return bench.replica().step_sums().part_squares;
}

void check_part_squares(Precision precision) {
  const float whole = part_squares(precision, false);
  CHECK(whole > 0);
  CHECK(part_squares(precision, true) == whole);
}

TEST_CASE_OF_PRECISION("announcements: gradients are measured when they are complete",
                       "[backend][replica]", check_part_squares)

TEST_CASE("announcements: more than there are counters are refused", "[backend][replica]") {
  const Graph graph = small_option_a(quick_image_size());
  const ImageSet images = random_images(2);
  ReplicaBench bench(graph, images, random_vector(3, graph.parameter_count(), 0.3), {2});
  CHECK_THROWS_AS(bench.replica().announce_buckets(std::vector<std::size_t>(kMostBuckets + 1)),
                  RunError);
}

}  // namespace
}  // namespace rueda::test
