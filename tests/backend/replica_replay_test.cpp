// Replica::compute, whose work a device may record the second time and replay from then on.
#include <catch2/catch.hpp>

#include "tests/support/replica_bench.hpp"
#include "tests/support/small_graphs.hpp"

namespace rueda::test {
namespace {

constexpr int kSide = 9;
constexpr float kScale = 0.25F;
using Indices = std::vector<std::uint32_t>;

Vector some_parameters(const Graph& graph, std::uint64_t key) {
  Vector values = random_vector(key, graph.parameter_count(), 0.3);
  for (const Parameter& p : graph.parameters()) {
    if (p.init != Init::ones) continue;
    for (std::size_t i = 0; i < p.count; ++i) values[p.offset + i] += 1.0;
  }
  return values;
}

/// A replica that is computed, and one that goes step by step.
struct Pair {
  Pair(const Graph& graph, const ImageSet& images, Precision precision)
      : computed(graph, images, some_parameters(graph, 31), {2, 4}, {2}, repeatable_variant(),
                 precision),
        stepped(graph, images, some_parameters(graph, 31), {2, 4}, {2}, repeatable_variant(),
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
    const Graph graph = small.build(kSide);
    Pair pair(graph, images, precision);
    for (const Indices& indices :
         {Indices{0, 1, 2, 3}, Indices{4, 5, 6, 7}, Indices{3, 2, 1, 0}, Indices{7, 0, 6, 1}}) {
      pair.check(indices, kScale);
    }
  }
}

TEST_CASE("replica: computed four times, the same bits as step by step", "[backend][replica]") {
  check_replays(Precision::fp32);
}

TEST_CASE("replica: computed four times in bf16", "[backend][replica][bf16]") {
  check_replays(Precision::bf16);
}

TEST_CASE("replica: what changes between computations is seen", "[backend][replica]") {
  const ImageSet images = random_images(8);
  const Graph graph = small_preactivation(kSide);
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
  const Graph graph = small_projection(kSide);
  const ImageSet images = random_images(4);
  ReplicaBench bench(graph, images, some_parameters(graph, 31), {2});
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

}  // namespace
}  // namespace rueda::test
