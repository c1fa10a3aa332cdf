#include "model/fusion.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "model/flops.hpp"
#include "model/graph_builder.hpp"
#include "model/registry.hpp"
#include "rueda/model/graph.hpp"
#include "tests/support/small_graphs.hpp"

namespace rueda::test {
namespace {

constexpr FusionRules kBoth{.conv_adds = true, .batch_norm_adds = true};
constexpr FusionRules kConv{.conv_adds = true};
constexpr FusionRules kNorm{.batch_norm_adds = true};

const Node* find(const Graph& graph, const std::string& name) {
  const auto& nodes = graph.nodes();
  const auto found = std::ranges::find(nodes, name, &Node::name);
  return found == nodes.end() ? nullptr : &*found;
}

template <typename Kind>
bool is(const Node* node) {
  return node != nullptr && std::holds_alternative<Kind>(node->kind);
}

std::vector<std::string> input_names(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const NodeId input : find(graph, name)->inputs) names.push_back(graph.node(input).name);
  return names;
}

/// Parameters, arenas, and everything that the outside sees.
void check_unchanged_outside(const Graph& before, const Graph& after) {
  CHECK(after.name() == before.name());
  CHECK(after.origin() == before.origin());
  CHECK(after.parameter_count() == before.parameter_count());
  CHECK(after.statistics_count() == before.statistics_count());
  REQUIRE(after.parameters().size() == before.parameters().size());
  for (std::size_t p = 0; p < before.parameters().size(); ++p) {
    CHECK(after.parameters()[p].name == before.parameters()[p].name);
    CHECK(after.parameters()[p].offset == before.parameters()[p].offset);
  }
  CHECK(after.node(after.logits()).name == before.node(before.logits()).name);
  CHECK(after.shape(after.input()) == before.shape(before.input()));
  CHECK(forward_flops(after) == forward_flops(before));
}

/// Inputs come before their users, and every node has the shape that it had under its name.
void check_sound(const Graph& before, const Graph& after) {
  for (NodeId id = 0; id <= after.logits(); ++id) {
    const Node& node = after.node(id);
    CAPTURE(node.name);
    for (const NodeId input : node.inputs) CHECK(input < id);
    const Node* old = find(before, node.name);
    REQUIRE(old != nullptr);
    CHECK(node.output == old->output);
  }
}

std::size_t additions(const Graph& graph) {
  return std::size_t(
      std::ranges::count_if(graph.nodes(), [](const Node& n) { return is<AddNode>(&n); }));
}

TEST_CASE("fusion: every network keeps its parameters, shapes and arithmetic", "[fusion]") {
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    const Graph before = build_model(name, 32, 10);
    const Graph after = fuse_additions(before, kBoth);
    check_unchanged_outside(before, after);
    check_sound(before, after);
    CHECK(additions(before) > 0);
    CHECK(additions(after) == 0);
    CHECK(after.nodes().size() + additions(before) == before.nodes().size());
  }
}

TEST_CASE("fusion: a batch norm takes the addition with its ReLU", "[fusion]") {
  const Graph before = small_option_a(9);
  const Graph after = fuse_additions(before, kNorm);
  check_unchanged_outside(before, after);
  check_sound(before, after);
  CHECK(find(after, "a.bn2") == nullptr);
  REQUIRE(is<BatchNormNode>(find(after, "a.add")));
  const auto& fused = std::get<BatchNormNode>(find(after, "a.add")->kind);
  const auto& norm = std::get<BatchNormNode>(find(before, "a.bn2")->kind);
  CHECK(fused.relu);
  CHECK(fused.gamma == norm.gamma);
  CHECK(fused.beta == norm.beta);
  CHECK(fused.statistics_offset == norm.statistics_offset);
  CHECK(input_names(after, "a.add") == std::vector<std::string>{"a.conv2", "bn"});
  CHECK(input_names(after, "b.add") == std::vector<std::string>{"b.conv2", "b.shortcut"});
}

TEST_CASE("fusion: of two that could add, the later one does", "[fusion]") {
  const Graph v1 = fuse_additions(small_projection(9), kBoth);
  CHECK(is<BatchNormNode>(find(v1, "b.shortcut.1")));
  CHECK(input_names(v1, "b.add") == std::vector<std::string>{"b.conv2", "b.shortcut.1"});
  const Graph v2 = fuse_additions(small_preactivation(9), kBoth);
  CHECK(is<ConvNode>(find(v2, "block1.0_conv")));
  CHECK(input_names(v2, "block1.out") == std::vector<std::string>{"block1.2_bn", "block1.0_conv"});
}

TEST_CASE("fusion: a convolution takes an addition without ReLU, with its bias", "[fusion]") {
  const Graph before = small_preactivation(9);
  const Graph after = fuse_additions(before, kConv);
  check_unchanged_outside(before, after);
  check_sound(before, after);
  REQUIRE(is<ConvNode>(find(after, "block2.out")));
  const auto& fused = std::get<ConvNode>(find(after, "block2.out")->kind);
  const auto& conv = std::get<ConvNode>(find(before, "block2.3_conv")->kind);
  CHECK(fused.weight == conv.weight);
  CHECK(fused.bias == conv.bias);
  CHECK(input_names(after, "block2.out") == std::vector<std::string>{"block2.2_bn", "block1.out"});
  CHECK(input_names(after, "block3.out") == std::vector<std::string>{"block3.2_bn", "block3.pool"});
}

TEST_CASE("fusion: only what the rules allow", "[fusion]") {
  for (const SmallGraph& small : small_graphs()) {
    CAPTURE(small.name);
    const Graph before = small.build(9);
    CHECK(names_of(fuse_additions(before, {}).nodes()) == names_of(before.nodes()));
  }
  CHECK(additions(fuse_additions(small_option_a(9), kConv)) == 2);
  CHECK(additions(fuse_additions(small_preactivation(9), kNorm)) == 3);
}

/// image -> conv -> left and right, whatever these are, and their sum.
template <typename Left, typename Right>
Graph sum_of(Left left, Right right, bool relu, bool read_left_twice = false) {
  GraphBuilder g("sum", {3, 8, 8});
  const NodeId x = g.conv("stem", g.input(), {.filters = 8});
  const NodeId a = left(g, x);
  const NodeId b = right(g, x);
  NodeId y = g.add("sum", a, b, relu);
  if (read_left_twice) y = g.add("again", a, y, true);
  g.dense("dense", g.global_average_pool("pool", y), {.units = 10});
  return std::move(g).finish();
}

NodeId conv(GraphBuilder& g, NodeId x) { return g.conv("conv", x, {.filters = 8}); }
NodeId norm(GraphBuilder& g, NodeId x) { return g.batch_norm("norm", x, {}); }
NodeId norm_relu(GraphBuilder& g, NodeId x) { return g.batch_norm("norm", x, {.relu = true}); }
NodeId pool(GraphBuilder& g, NodeId x) { return g.max_pool("max", x, {1, 1, 0}); }

TEST_CASE("fusion: nothing over a ReLU or a second reader", "[fusion]") {
  const auto left = [](const Graph& graph) { return additions(fuse_additions(graph, kBoth)); };
  CHECK(left(sum_of(norm, pool, true)) == 0);
  CHECK(left(sum_of(pool, norm, true)) == 0);
  CHECK(left(sum_of(norm, pool, false)) == 0);
  CHECK(left(sum_of(conv, pool, false)) == 0);
  CHECK(left(sum_of(norm_relu, pool, true)) == 1);    // a ReLU before the addition
  CHECK(left(sum_of(conv, pool, true)) == 1);         // none of a convolution after it
  CHECK(left(sum_of(norm, pool, false, true)) == 2);  // its output is read once more
  CHECK(left(sum_of(pool, norm, false, true)) == 1);  // the other one's is
  CHECK(left(small_three_readers(9)) == 2);
}

TEST_CASE("fusion: what cannot take an addition leaves it to the earlier one", "[fusion]") {
  const Graph graph = fuse_additions(sum_of(norm, conv, true), kBoth);
  CHECK(is<BatchNormNode>(find(graph, "sum")));
  CHECK(input_names(graph, "sum") == std::vector<std::string>{"stem", "conv"});
}

TEST_CASE("fusion: a node that is added to itself stays", "[fusion]") {
  GraphBuilder g("double", {3, 8, 8});
  const NodeId x = g.conv("conv", g.input(), {.filters = 8});
  g.global_average_pool("pool", g.add("sum", x, x, false));
  const Graph graph = std::move(g).finish();
  CHECK(names_of(fuse_additions(graph, kBoth).nodes()) == names_of(graph.nodes()));
}

}  // namespace
}  // namespace rueda::test
