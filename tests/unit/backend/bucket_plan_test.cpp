#include "rueda/backend/bucket_plan.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "rueda/backend/announcements.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "rueda/model/fusion.hpp"
#include "rueda/model/registry.hpp"
#include "tests/support/small_graphs.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

std::vector<std::string> names(const Graph& graph, const std::vector<std::size_t>& ends) {
  std::vector<std::string> names;
  for (const NodeId node : completing_nodes(graph, ends)) names.push_back(graph.node(node).name);
  return names;
}

}  // namespace

TEST_CASE("buckets are complete with the earliest layer that has a parameter in them") {
  // conv: 60 + 5, bn: 5 + 5, dense: 20 + 4, in backward order dense, bn, conv.
  const Graph graph = small_one_of_each(Origin::pytorch);
  const std::size_t all = graph.parameter_count();
  CHECK(names(graph, {24, 34, all}) == std::vector<std::string>{"dense", "bn", "conv"});
  CHECK(names(graph, {23, 25, all}) == std::vector<std::string>{"dense", "bn", "conv"});
  CHECK(names(graph, {35, all}) == std::vector<std::string>{"conv", "conv"});
  CHECK(names(graph, {0, 24, 24, all}) ==
        std::vector<std::string>{"dense", "dense", "dense", "conv"});
  CHECK(names(graph, {}).empty());
}

TEST_CASE("buckets of a fused graph never announce a gradient that is still to come") {
  const Graph graph = fuse_additions(small_projection(8), {true, true});
  std::vector<std::size_t> ends;
  for (const Parameter& p : graph.parameters()) ends.push_back(p.offset + p.count);
  const auto nodes = completing_nodes(graph, ends);
  CHECK(std::is_sorted(nodes.rbegin(), nodes.rend()));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (NodeId node = 1; node < nodes[i]; ++node) {  // what backward reaches after that
      const auto* conv = std::get_if<ConvNode>(&graph.node(node).kind);
      if (conv != nullptr) CHECK(graph.parameter(conv->weight).offset >= ends[i]);
    }
  }
}

TEST_CASE("buckets: tensors are not cut, the first is short, the tail goes with the last") {
  const Graph graph = small_one_of_each(Origin::pytorch);  // 20, 4, 5, 5, 60, 5 parameters
  const std::size_t all = GradientLayout(graph).total();
  using Ends = std::vector<std::size_t>;
  CHECK(plan_buckets(graph, {.most_bytes = 0}) == Ends{all});
  CHECK(plan_buckets(graph, {.most_bytes = 1'000'000}) == Ends{all});
  CHECK(plan_buckets(graph, {.most_bytes = 24 * 4}) == Ends{24, 34, 94, all});
  CHECK(plan_buckets(graph, {.most_bytes = 1}) == Ends{20, 24, 29, 34, 94, all});
  CHECK(plan_buckets(graph, {.most_bytes = 24 * 4, .tail_apart = true}) ==
        Ends{24, 34, 94, graph.parameter_count(), all});
  CHECK(plan_buckets(graph, {.most_bytes = 0, .tail_apart = true}) ==
        Ends{graph.parameter_count(), all});
}

TEST_CASE("buckets: of a real network") {
  const Graph graph = build_model("resnet18", 32, 10);
  const auto ends = plan_buckets(graph, {});
  REQUIRE(ends.size() > 2);
  CHECK(ends.front() * 4 <= kOuterBucketBytes);
  for (std::size_t i = 1; i < ends.size(); ++i) {
    CHECK(ends[i] > ends[i - 1]);
    CHECK((ends[i] - ends[i - 1]) * 4 <= 25'000'000);
  }
  CHECK(ends.back() == GradientLayout(graph).total());
  const std::size_t before_last = ends[ends.size() - 2];
  CHECK((graph.parameter_count() - before_last) * 4 <= kOuterBucketBytes);
  CHECK((graph.parameter_count() - before_last) * 4 >
        kOuterBucketBytes / 4);  // but not for nothing
}

TEST_CASE("buckets: of any network there are never more than can be announced") {
  for (const std::string& name : model_names()) {
    CHECK(plan_buckets(build_model(name, 32, 10), {.most_bytes = 1}).size() <= kMostBuckets);
  }
}
