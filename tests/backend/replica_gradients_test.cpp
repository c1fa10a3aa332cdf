#include <catch2/catch.hpp>

#include "backend/replica.hpp"
#include "model/registry.hpp"
#include "tests/support/backend_under_test.hpp"
#include "tests/support/replica_bench.hpp"
#include "tests/support/small_graphs.hpp"

namespace rueda::test {
namespace {

constexpr int kImageSide = 9;

/// Relative distance of a small network's fp32 gradients from the exact ones. Each of its 20 to 30
/// operations, forward and backward, rounds sums of up to 250 terms, which leaves sqrt(250) u,
/// u = 2^-24, or 1e-6; as independent errors 30 of them make 5e-6, and batch norm over few values
/// amplifies that a few times.
constexpr double kNetworkTolerance = 2e-5;
/// Two hundred times the error of an activation: no ReLU may decide differently in fp32.
constexpr double kKinkDistance = 1e-4;

/// Means, then variances with Bessel's correction where the layer asks for it, times the samples.
void check_statistics(const Graph& graph, const Vector& tail, const ReferenceStep& step,
                      int samples) {
  for (const Node& node : graph.nodes()) {
    const auto* bn = std::get_if<BatchNormNode>(&node.kind);
    if (bn == nullptr) continue;
    CAPTURE(node.name);
    const double values = double(samples) * node.output.height * node.output.width;
    const bool biased = bn->running_variance == RunningVariance::biased;
    const double correction = biased ? 1.0 : values / (values - 1.0);
    const auto channels = std::size_t(node.output.channels);
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t i = bn->statistics_offset + c;
      const double deviation = std::sqrt(step.statistics[i + channels]);
      CHECK(std::abs(tail[i] / samples - step.statistics[i]) < kNetworkTolerance * deviation);
      CHECK(
          tail[i + channels] ==
          Approx(samples * correction * step.statistics[i + channels]).epsilon(kNetworkTolerance));
    }
  }
}

void check_step(const SmallGraph& small, const std::vector<std::uint32_t>& indices,
                const Variant& variant) {
  const Graph graph = small.build(kImageSide);
  const ImageSet images = random_images(8);
  const ReferenceBatch batch = reference_batch(images, indices, kImageSide);
  const Vector parameters = smooth_parameters(graph, batch.input, batch.labels, kKinkDistance);
  // Not 1 / batch: the scale is that of the whole step.
  const ReferenceStep expected =
      reference_step(graph, parameters, batch.input, batch.labels, 0.125);
  ReplicaBench bench(graph, images, parameters, {indices.size()}, {}, variant);
  bench.step(indices, 0.125F);

  const int samples = int(indices.size());
  const Vector actual = to_doubles(bench.gradients());
  check_gradients(graph, actual, expected.gradients, kNetworkTolerance);
  const auto tail = actual.begin() + std::ptrdiff_t(graph.parameter_count());
  check_statistics(graph, Vector(tail, actual.end()), expected, samples);
  const StepSums sums = bench.replica().step_sums();
  CHECK(double(sums.loss) == Approx(expected.loss).epsilon(kNetworkTolerance));
  CHECK(int(sums.correct) == expected.correct);
  CHECK(int(sums.samples) == samples);
  CHECK(sums.nonfinite == 0.0F);
  CHECK(sums.stop == 0.0F);
}

TEST_CASE("replica: loss, gradients and statistics of a step", "[backend][replica]") {
  for (const SmallGraph& small : small_graphs()) {
    for (const Variant& variant : variants()) {
      CAPTURE(small.name, variant.name);
      check_step(small, {5, 0, 3}, variant);
      check_step(small, {1, 2, 7, 4}, variant);
    }
  }
}

/// The smallest margin by which a row's largest logit leads, and how many rows are right.
struct Verdict {
  double lead = 1e9;
  int correct = 0;
};

Verdict judge(const Tensor& logits, const std::vector<std::int32_t>& labels) {
  Verdict v;
  for (int n = 0; n < logits.n; ++n) {
    Tensor row(1, logits.c, 1, 1);
    for (int k = 0; k < logits.c; ++k) row.at(0, k, 0, 0) = logits.at(n, k, 0, 0);
    v.correct += softmax_cross_entropy(row, {labels[std::size_t(n)]}, 1).correct;
    std::sort(row.values.begin(), row.values.end());
    v.lead = std::min(v.lead, row.values[9] - row.values[8]);
  }
  return v;
}

TEST_CASE("replica: inference uses the running statistics", "[backend][replica]") {
  const std::vector<std::uint32_t> indices = {5, 0, 3, 6};
  const ImageSet images = random_images(8);
  const ReferenceBatch batch = reference_batch(images, indices, kImageSide);
  for (const SmallGraph& small : small_graphs()) {
    CAPTURE(small.name);
    const Graph graph = small.build(kImageSide);
    const Vector parameters = smooth_parameters(graph, batch.input, batch.labels, kKinkDistance);
    const Vector running = random_vector(3, graph.statistics_count(), 0.3, 0.6);
    const Tensor logits = reference_logits(graph, parameters, running, batch.input);
    const Verdict expected = judge(logits, batch.labels);
    REQUIRE(expected.lead > 1e-4);

    ReplicaBench bench(graph, images, parameters, {}, {4});
    bench.backend().upload(bench.replica().running_statistics(), to_floats(running));
    const LossSums sums = bench.infer(indices);
    CHECK(double(sums.loss) ==
          Approx(softmax_cross_entropy(logits, batch.labels, 1).loss).epsilon(kNetworkTolerance));
    CHECK(int(sums.correct) == expected.correct);
  }
}

constexpr int kBlockSide = 16;

/// Gradients and tail of one micro-batch.
std::vector<float> gradients_with(const Graph& graph, Recompute recompute, const Variant& variant) {
  const auto opened = open_backend_under_test(variant, Precision::fp32);
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
    const NodeId before = plan.before[std::size_t(node)];
    text.push_back(graph.node(node).name + " before " + graph.node(before).name);
  }
  return text;
}

/// A block of the V2 kind after a stem: the shortcut subsamples.
Graph block_graph() {
  GraphBuilder g("block", {3, kBlockSide, kBlockSide});
  const NodeId stem = g.conv("stem", g.input(), {.filters = 8});
  const NodeId pool = g.max_pool("pool", stem, {.kernel = 3, .stride = 2, .padding = 1});
  const NodeId norm = g.batch_norm("norm", pool, {.relu = true});
  const NodeId skip = g.max_pool("skip", pool, {.kernel = 1, .stride = 2});
  const NodeId first = g.conv("first", norm, {.filters = 8, .stride = 2, .bias = true});
  const NodeId inner = g.batch_norm("inner", first, {.relu = true});
  const NodeId last = g.conv("last", inner, {.filters = 8});
  const NodeId sum = g.add("sum", skip, last, false);
  const NodeId post = g.batch_norm("post", sum, {.relu = true});
  g.dense("dense", g.global_average_pool("mean", post), {.units = 10});
  return std::move(g).finish();
}

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
  const Graph graph =
      GENERATE_COPY(block_graph(), small_option_a(kBlockSide), small_projection(kBlockSide),
                    small_preactivation(kBlockSide), small_three_readers(kBlockSide));
  const Variant variant = GENERATE(variants().front(), repeatable_variant());
  CAPTURE(graph.name(), variant.name);
  const auto kept = gradients_with(graph, Recompute::none, variant);
  const bool after_batch_norm = gradients_with(graph, Recompute::batch_norm, variant) == kept;
  const bool after_block = gradients_with(graph, Recompute::block, variant) == kept;
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

}  // namespace
}  // namespace rueda::test
