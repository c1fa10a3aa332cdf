#include "rueda/model/graph.hpp"

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"
#include "tests/support/small_graphs.hpp"

namespace rueda::test {
namespace {

std::vector<std::string> parameter_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Parameter& p : graph.parameters()) names.push_back(p.name);
  return names;
}

TEST_CASE("graph: parameters lie in the order in which backward finishes them", "[graph]") {
  CHECK(parameter_names(small_option_a(8)) ==
        std::vector<std::string>{"linear.weight", "linear.bias", "b.bn2.weight", "b.bn2.bias",
                                 "b.conv2.weight", "b.bn1.weight", "b.bn1.bias", "b.conv1.weight",
                                 "a.bn2.weight", "a.bn2.bias", "a.conv2.weight", "a.bn1.weight",
                                 "a.bn1.bias", "a.conv1.weight", "bn.weight", "bn.bias",
                                 "conv.weight"});
}

TEST_CASE("graph: parameters are contiguous and nodes know theirs", "[graph]") {
  for (const SmallGraph& small : small_graphs()) {
    CAPTURE(small.name);
    const Graph graph = small.build(9);
    std::size_t offset = 0;
    for (const Parameter& p : graph.parameters()) {
      CHECK(p.offset == offset);
      offset += p.count;
    }
    CHECK(offset == graph.parameter_count());
    for (const Node& node : graph.nodes()) {
      if (const auto* conv = std::get_if<ConvNode>(&node.kind)) {
        CHECK(graph.parameter(conv->weight).name == node.name + ".weight");
        if (conv->bias != kNone) CHECK(graph.parameter(conv->bias).name == node.name + ".bias");
      } else if (const auto* bn = std::get_if<BatchNormNode>(&node.kind)) {
        CHECK(graph.parameter(bn->gamma).name == node.name + ".weight");
        CHECK(graph.parameter(bn->beta).name == node.name + ".bias");
      }
    }
  }
}

TEST_CASE("graph: statistics are contiguous in forward order", "[graph]") {
  const Graph graph = small_projection(9);
  std::size_t offset = 0;
  for (const Node& node : graph.nodes()) {
    const auto* bn = std::get_if<BatchNormNode>(&node.kind);
    if (bn == nullptr) continue;
    CHECK(bn->statistics_offset == offset);
    offset += 2 * std::size_t(node.output.channels);
  }
  CHECK(offset == graph.statistics_count());
}

TEST_CASE("graph: shapes, dimensions and fans", "[graph]") {
  GraphBuilder g("shapes", {3, 9, 10});
  const NodeId conv = g.conv("conv", g.input(),
                             {.filters = 8, .kernel = 7, .stride = 2, .padding = 3, .bias = true});
  CHECK(g.shape(conv) == Shape{8, 5, 5});
  const NodeId pool = g.max_pool("pool", conv, {3, 2, 1});
  CHECK(g.shape(pool) == Shape{8, 3, 3});
  CHECK(g.shape(g.max_pool("narrow", conv, {2, 2, 0})) == Shape{8, 2, 2});
  CHECK(g.shape(g.pad_shortcut("pad", conv, 12, 2)) == Shape{12, 3, 3});
  g.dense("dense", g.global_average_pool("average", pool), {.units = 4});
  const Graph graph = std::move(g).finish();
  const Parameter& weight = graph.parameter(std::get<ConvNode>(graph.node(conv).kind).weight);
  CHECK(weight.dims == std::vector<int>{8, 7, 7, 3});
  CHECK(weight.count == 8 * 7 * 7 * 3);
  CHECK(weight.fan_in == 7 * 7 * 3);
  CHECK(weight.fan_out == 7 * 7 * 8);
  CHECK(graph.parameter(0).dims == std::vector<int>{4, 8});
  CHECK(graph.parameter(0).fan_in == 8);
  CHECK(graph.parameter(0).fan_out == 4);
}

TEST_CASE("graph: what does not fit is refused by the layer's name", "[graph]") {
  GraphBuilder g("refusals", {4, 5, 5});
  const auto names = [](const std::string& layer) { return Catch::Contains("layer " + layer); };
  CHECK_THROWS_WITH(g.conv("wide", g.input(), {.filters = 4, .kernel = 7, .padding = 0}),
                    names("wide") && Catch::Contains("--image-size"));
  CHECK_THROWS_WITH(g.max_pool("pool", g.input(), {6, 1, 0}), names("pool"));
  CHECK_THROWS_WITH(g.pad_shortcut("odd", g.input(), 7, 1), names("odd"));
  CHECK_THROWS_WITH(g.pad_shortcut("fewer", g.input(), 2, 1), names("fewer"));
  const NodeId smaller = g.max_pool("half", g.input(), {2, 2, 0});
  CHECK_THROWS_WITH(g.add("sum", g.input(), smaller, true), names("sum"));
  CHECK_THROWS_AS(g.add("sum", g.input(), smaller, true), InputError);
}

}  // namespace
}  // namespace rueda::test
