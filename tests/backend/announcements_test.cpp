#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"
#include "tests/support/replica_bench.hpp"
#include "tests/support/small_graphs.hpp"

namespace rueda::test {
namespace {

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
    for (std::size_t bucket = 0; bucket < ends.size(); ++bucket) {
      CHECK(bench.backend().announced(bucket) == step);
    }
    CHECK(bench.backend().announced(ends.size()) == 0);
  }
}

TEST_CASE("announcements: more than there are counters are refused", "[backend][replica]") {
  const Graph graph = small_option_a(quick_image_size());
  const ImageSet images = random_images(2);
  ReplicaBench bench(graph, images, random_vector(3, graph.parameter_count(), 0.3), {2});
  CHECK_THROWS_AS(bench.replica().announce_buckets(std::vector<std::size_t>(kMostBuckets + 1)),
                  RunError);
}

}  // namespace
}  // namespace rueda::test
