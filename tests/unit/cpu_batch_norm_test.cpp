#include <catch2/catch.hpp>

#include "../support/fp32_tolerance.hpp"
#include "../support/operation_bench.hpp"
#include "../support/random_tensor.hpp"

namespace rueda::test {
namespace {

struct NormCase {
  int channels, height, width, batch;
  float epsilon;
  bool relu;
};

const std::vector<NormCase> kCases = {
    {16, 4, 4, 5, 1e-5F, false}, {16, 3, 5, 1, 1e-5F, true}, {32, 5, 3, 5, 1.001e-5F, true},
    {8, 4, 3, 5, 1e-3F, true},   {3, 5, 5, 5, 1e-5F, false}, {5, 3, 3, 1, 1.001e-5F, true},
    {10, 4, 4, 5, 1e-3F, false}, {17, 3, 4, 5, 1e-5F, true}, {16, 1, 1, 5, 1e-5F, false},
};

Graph graph_of(const NormCase& c) {
  GraphBuilder g("norm", {c.channels, c.height, c.width});
  const NodeId x = g.pad_shortcut("carrier", g.input(), c.channels, 1);
  g.batch_norm("norm", x, {.epsilon = c.epsilon, .relu = c.relu});
  return std::move(g).finish();
}

/// Channels differ in mean and by up to 1000 in width, so that the narrow ones feel epsilon.
Tensor uneven_channels(const NormCase& c) {
  Tensor x = random_tensor(1, c.batch, {c.channels, c.height, c.width}, 1.0, 0.4);
  for_each_place(x, [&](int n, int ch, int y, int w) {
    x.at(n, ch, y, w) *= ch % 3 == 0 ? 1.0 : ch % 3 == 1 ? 0.125 : 0.0078125;
  });
  return x;
}

/// Everything that batch norm reads, and the quantities in which its rounding is measured. In bf16
/// the activations and their gradients are such numbers; all else is fp32.
struct NormData {
  Precision precision;
  BatchNormNode node;
  Tensor x, dy;
  Vector gamma, beta, one, zero;
  Moments moments;
  double epsilon, values;
  Vector reach;  ///< by channel: largest |x| / deviation + largest |normalised x|

  NormData(const Graph& graph, const NormCase& c, Precision p)
      : precision(p),
        node(std::get<BatchNormNode>(graph.nodes().back().kind)),
        x(as_stored(uneven_channels(c), p)),
        dy(as_stored(random_tensor(4, c.batch, {c.channels, c.height, c.width}), p)),
        gamma(random_vector(2, count(c), 0.5, 1.0)),
        beta(random_vector(3, count(c))),
        one(count(c), 1.0),
        zero(count(c), 0.0),
        moments(batch_moments(x)),
        epsilon(static_cast<double>(c.epsilon)),
        values(static_cast<double>(c.batch) * c.height * c.width),
        reach(zero) {
    measure();
  }

  static std::size_t count(const NormCase& c) { return static_cast<std::size_t>(c.channels); }
  double deviation(int c) const {
    return std::sqrt(moments.variance[static_cast<std::size_t>(c)] + epsilon);
  }
  Tensor before_relu() const { return normalise(x, moments, gamma, beta, epsilon); }
  Tensor gradient_behind_relu() const { return node.relu ? relu_gradient(before_relu(), dy) : dy; }
  Vector parameters() const {
    Vector all = gamma;
    all.insert(all.end(), beta.begin(), beta.end());
    return all;
  }

 private:
  void measure() {
    const Tensor unit = normalise(x, moments, one, zero, epsilon);
    for_each_place(x, [&](int n, int c, int h, int w) {
      double& r = reach[static_cast<std::size_t>(c)];
      r = std::max(r, std::abs(x.at(n, c, h, w)) / deviation(c) + std::abs(unit.at(n, c, h, w)));
    });
  }
};

/// The mean is off by the roundings of its `values` terms, the variance likewise, and both enter y
/// in units of the deviation; the ReLU never widens a difference.
void check_output(const NormData& d, const Tensor& y) {
  Tensor magnitude = d.x;
  for_each_place(magnitude, [&](int n, int c, int h, int w) {
    const auto i = static_cast<std::size_t>(c);
    magnitude.at(n, c, h, w) = std::abs(d.gamma[i]) * d.reach[i] + std::abs(d.beta[i]);
  });
  const Tensor expected = d.node.relu ? relu(d.before_relu()) : d.before_relu();
  CHECK(excess(y.values, expected.values, magnitude.values, d.values + 8, d.precision) <= 1);
}

/// Of fp32 accuracy in either precision.
void check_statistics(const NormData& d, const Vector& statistics) {
  Vector expected = d.moments.mean;
  expected.insert(expected.end(), d.moments.variance.begin(), d.moments.variance.end());
  Vector magnitude;
  for (int c = 0; c < d.x.c; ++c) {
    magnitude.push_back(d.reach[static_cast<std::size_t>(c)] * d.deviation(c));
  }
  for (int c = 0; c < d.x.c; ++c) {
    const auto i = static_cast<std::size_t>(c);
    magnitude.push_back(d.moments.variance[i] + 2 * magnitude[i] * d.deviation(c));
  }
  CHECK(excess(statistics, expected, magnitude, d.values + 8) <= 1);
}

/// Those of scale and shift are of fp32 accuracy in either precision.
void check_gradients(const NormData& d, const OperationBench& bench, const Tensor& dx) {
  const Tensor dy = d.gradient_behind_relu();
  const BatchNormGradients expected = batch_norm_gradients(d.x, d.gamma, d.epsilon, dy);
  const Vector sum_of_dy = conv_bias_gradient(magnitudes(dy));
  Tensor magnitude = d.x;
  Vector for_gamma = d.zero;
  for_each_place(magnitude, [&](int n, int c, int h, int w) {
    const auto i = static_cast<std::size_t>(c);
    const double mean = (sum_of_dy[i] + std::abs(expected.gamma[i])) / d.values;
    magnitude.at(n, c, h, w) =
        std::abs(d.gamma[i]) / d.deviation(c) * (std::abs(dy.at(n, c, h, w)) + d.reach[i] * mean);
    for_gamma[i] += std::abs(dy.at(n, c, h, w)) * d.reach[i];
  });
  CHECK(excess(dx.values, expected.x.values, magnitude.values, d.values + 12, d.precision) <= 1);
  CHECK(excess(bench.parameter_gradient(d.node.gamma), expected.gamma, for_gamma, d.values + 12) <=
        1);
  CHECK(excess(bench.parameter_gradient(d.node.beta), expected.beta, sum_of_dy, d.values) <= 1);
}

void check_training(Precision precision) {
  for (const auto layout : kLayouts) {
    for (const NormCase& c : kCases) {
      CAPTURE(to_string(layout), c.channels, c.height, c.width, c.batch, c.epsilon, c.relu);
      const Graph graph = graph_of(c);
      const NormData d(graph, c, precision);
      for (const double v : d.before_relu().values) REQUIRE(std::abs(v) > 1e-5);
      BenchCase bench_case{graph, graph.logits(), c.batch, layout, d.parameters()};
      bench_case.precision = precision;
      OperationBench bench(bench_case);
      check_output(d, bench.forward({d.x}));
      check_statistics(d, bench.batch_statistics());
      check_gradients(d, bench, bench.backward({d.dy}).front());
      CHECK(bench.damage() == "");
    }
  }
}

TEST_CASE("cpu batch norm in training", "[cpu][operations]") { check_training(Precision::fp32); }

TEST_CASE("cpu batch norm in training in bf16", "[cpu][operations][bf16]") {
  check_training(Precision::bf16);
}

void check_inference(Precision precision) {
  for (const auto layout : kLayouts) {
    for (const NormCase& c : kCases) {
      CAPTURE(to_string(layout), c.channels, c.batch, c.epsilon, c.relu);
      const Graph graph = graph_of(c);
      NormData d(graph, c, precision);
      d.moments = {random_vector(5, d.gamma.size()), random_vector(6, d.gamma.size(), 0.4, 0.5)};
      Vector running = d.moments.mean;
      running.insert(running.end(), d.moments.variance.begin(), d.moments.variance.end());
      BenchCase bench_case{graph,          graph.logits(), c.batch, layout,
                           d.parameters(), Mode::infer,    running};
      bench_case.precision = precision;
      OperationBench bench(bench_case);
      const Tensor y = bench.forward({d.x});
      const Tensor expected = c.relu ? relu(d.before_relu()) : d.before_relu();
      // Six roundings of a value of at most (|x| + |mean|) gamma / deviation + |beta|.
      const Vector magnitude(y.size(), 2.4 * 1.5 / std::sqrt(0.1) + 1);
      CHECK(excess(y.values, expected.values, magnitude, 1, precision) <= 1);
      CHECK(bench.damage() == "");
    }
  }
}

TEST_CASE("cpu batch norm in inference takes the running statistics", "[cpu][operations]") {
  check_inference(Precision::fp32);
}

TEST_CASE("cpu batch norm in inference in bf16", "[cpu][operations][bf16]") {
  check_inference(Precision::bf16);
}

}  // namespace
}  // namespace rueda::test
