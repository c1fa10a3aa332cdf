#include <catch2/catch.hpp>

#include "tests/support/gradient_check.hpp"
#include "tests/support/replica_bench.hpp"
#include "tests/support/small_graphs.hpp"

namespace rueda::test {
namespace {

constexpr int kSide = 9;

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
    const double values = static_cast<double>(samples) * node.output.height * node.output.width;
    const bool biased = bn->running_variance == RunningVariance::biased;
    const double correction = biased ? 1.0 : values / (values - 1.0);
    const auto channels = static_cast<std::size_t>(node.output.channels);
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
  const Graph graph = small.build(kSide);
  const ImageSet images = random_images(8);
  const ReferenceBatch batch = reference_batch(images, indices, kSide);
  const Vector parameters = smooth_parameters(graph, batch.input, batch.labels, kKinkDistance);
  // Not 1 / batch: the scale is that of the whole step.
  const ReferenceStep expected =
      reference_step(graph, parameters, batch.input, batch.labels, 0.125);
  ReplicaBench bench(graph, images, parameters, {indices.size()}, {}, variant);
  bench.step(indices, 0.125F);

  const int samples = static_cast<int>(indices.size());
  const Vector actual = to_doubles(bench.gradients());
  check_gradients(graph, actual, expected.gradients, kNetworkTolerance);
  const auto tail = actual.begin() + static_cast<std::ptrdiff_t>(graph.parameter_count());
  check_statistics(graph, Vector(tail, actual.end()), expected, samples);
  const StepSums sums = bench.replica().step_sums();
  CHECK(static_cast<double>(sums.loss) == Approx(expected.loss).epsilon(kNetworkTolerance));
  CHECK(static_cast<int>(sums.correct) == expected.correct);
  CHECK(static_cast<int>(sums.samples) == samples);
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
    v.correct += softmax_cross_entropy(row, {labels[static_cast<std::size_t>(n)]}, 1).correct;
    std::sort(row.values.begin(), row.values.end());
    v.lead = std::min(v.lead, row.values[9] - row.values[8]);
  }
  return v;
}

TEST_CASE("replica: inference uses the running statistics", "[backend][replica]") {
  const std::vector<std::uint32_t> indices = {5, 0, 3, 6};
  const ImageSet images = random_images(8);
  const ReferenceBatch batch = reference_batch(images, indices, kSide);
  for (const SmallGraph& small : small_graphs()) {
    CAPTURE(small.name);
    const Graph graph = small.build(kSide);
    const Vector parameters = smooth_parameters(graph, batch.input, batch.labels, kKinkDistance);
    const Vector running = random_vector(3, graph.statistics_count(), 0.3, 0.6);
    const Tensor logits = reference_logits(graph, parameters, running, batch.input);
    const Verdict expected = judge(logits, batch.labels);
    REQUIRE(expected.lead > 1e-4);

    ReplicaBench bench(graph, images, parameters, {}, {4});
    bench.backend().upload(bench.replica().running_statistics(), to_floats(running));
    const LossSums sums = bench.infer(indices);
    CHECK(static_cast<double>(sums.loss) ==
          Approx(softmax_cross_entropy(logits, batch.labels, 1).loss).epsilon(kNetworkTolerance));
    CHECK(static_cast<int>(sums.correct) == expected.correct);
  }
}

}  // namespace
}  // namespace rueda::test
