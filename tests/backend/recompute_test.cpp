#include <catch2/catch.hpp>

#include "rueda/backend/replica_plan.hpp"
#include "rueda/model/registry.hpp"
#include "tests/support/backend_under_test.hpp"
#include "tests/support/replica_bench.hpp"
#include "tests/support/small_graphs.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

constexpr int kSide = 16;

/// Gradients and tail of one micro-batch.
std::vector<float> gradients_with(const Graph& graph, Recompute recompute) {
  const auto opened = open_backend_under_test();
  Backend& backend = *opened;
  Replica replica(graph, backend, {4}, {}, recompute);
  replica.initialise(3);
  replica.parameters_changed();
  const ImageSet images = random_images(4);
  const auto held = backend.hold(images);
  const std::vector<std::uint32_t> indices = {0, 1, 2, 3};
  replica.load({held.get(), indices, plain_transform(graph.shape(graph.input()).height), 0, 0});
  replica.compute(0.25F);
  std::vector<float> host(replica.gradients().size());
  backend.download(host, replica.gradients());
  return host;
}

std::size_t pool_with(const Graph& graph, Recompute recompute) {
  const auto backend = open_backend_under_test();
  return ReplicaPlan(graph, *backend, {16}, {}, recompute).pool_bytes();
}

std::vector<OperationNeeds> needs_of(const Graph& graph) {
  std::vector<OperationNeeds> needs(graph.nodes().size());
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const NodeKind& kind = graph.nodes()[i].kind;
    needs[i].keeps_input =
        std::holds_alternative<ConvNode>(kind) || std::holds_alternative<BatchNormNode>(kind);
    const auto* add = std::get_if<AddNode>(&kind);
    needs[i].keeps_output = add != nullptr && add->relu;
  }
  return needs;
}

/// "name before name" of every repeated node.
std::vector<std::string> plan_text(const Graph& graph, Recompute what) {
  const RecomputePlan plan = plan_recompute(graph, needs_of(graph), what);
  std::vector<std::string> text;
  for (NodeId node = 0; node <= graph.logits(); ++node) {
    if (!plan.repeats(node)) continue;
    const NodeId before = plan.before[static_cast<std::size_t>(node)];
    text.push_back(graph.node(node).name + " before " + graph.node(before).name);
  }
  return text;
}

/// A block of the V2 kind after a stem: the shortcut subsamples.
Graph block_graph() {
  GraphBuilder g("block", {3, kSide, kSide});
  const NodeId stem = g.conv("stem", g.input(), {.filters = 8});
  const NodeId pool = g.max_pool("pool", stem, {.kernel = 3, .stride = 2, .padding = 1});
  const NodeId norm = g.batch_norm("norm", pool, {.relu = true});
  const NodeId skip = g.max_pool("skip", pool, {.kernel = 1, .stride = 2});
  const NodeId first = g.conv("first", norm, {.filters = 8, .stride = 2});
  const NodeId inner = g.batch_norm("inner", first, {.relu = true});
  const NodeId last = g.conv("last", inner, {.filters = 8});
  const NodeId sum = g.add("sum", skip, last, false);
  const NodeId post = g.batch_norm("post", sum, {.relu = true});
  g.dense("dense", g.global_average_pool("mean", post), {.units = 10});
  return std::move(g).finish();
}

}  // namespace

TEST_CASE("recompute: what is made again, and when") {
  const Graph graph = block_graph();
  CHECK(plan_text(graph, Recompute::none).empty());
  CHECK(plan_text(graph, Recompute::batch_norm) ==
        std::vector<std::string>{"norm before first", "inner before last"});
  // The stem's output is kept by its pooling, the block's by its addition; "last" and "skip" are
  // never needed again.
  CHECK(plan_text(graph, Recompute::block) ==
        std::vector<std::string>{"norm before sum", "first before sum", "inner before sum"});
}

TEST_CASE("recompute changes no bit of any gradient", "[backend][replica]") {
  const Graph graph = GENERATE_COPY(block_graph(), small_option_a(kSide), small_projection(kSide),
                                    small_preactivation(kSide), small_three_readers(kSide));
  CAPTURE(graph.name());
  const auto kept = gradients_with(graph, Recompute::none);
  const bool after_batch_norm = gradients_with(graph, Recompute::batch_norm) == kept;
  const bool after_block = gradients_with(graph, Recompute::block) == kept;
  CHECK(after_batch_norm);
  CHECK(after_block);
}

TEST_CASE("recompute saves memory where it says so", "[backend][replica]") {
  const Graph graph = build_model("resnet50v2", 64, 10);
  const std::size_t none = pool_with(graph, Recompute::none);
  const std::size_t batch_norm = pool_with(graph, Recompute::batch_norm);
  const std::size_t block = pool_with(graph, Recompute::block);
  INFO(none << " " << batch_norm << " " << block);
  CHECK(10 * batch_norm < 7 * none);
  CHECK(2 * block < none);
}
