#include <catch2/catch.hpp>

#include "../support/fp32_tolerance.hpp"
#include "../support/operation_bench.hpp"
#include "../support/random_tensor.hpp"

namespace rueda::test {
namespace {

struct ConvCase {
  int channels, filters, kernel, stride, padding, height, width, batch;
  bool bias;
};

/// Odd channel counts pad the blocked layouts, odd sizes leave a row over where the stride is 2.
const std::vector<ConvCase> kCases = {
    {16, 16, 3, 1, 1, 6, 6, 1, false}, {16, 32, 3, 2, 1, 7, 5, 5, false},
    {8, 16, 1, 2, 0, 7, 6, 5, true},   {32, 8, 1, 1, 0, 5, 5, 1, true},
    {8, 8, 7, 2, 3, 9, 8, 1, true},    {3, 5, 3, 1, 1, 5, 4, 5, true},
    {5, 3, 3, 2, 1, 6, 7, 1, false},   {10, 17, 3, 1, 1, 5, 5, 1, true},
    {17, 10, 1, 2, 0, 5, 7, 5, false}, {3, 10, 7, 2, 3, 9, 9, 1, false},
    {17, 5, 7, 1, 3, 5, 5, 1, true},   {16, 16, 3, 1, 0, 5, 6, 1, true},
};

Graph graph_of(const ConvCase& c, bool on_image) {
  GraphBuilder g("conv", {c.channels, c.height, c.width});
  NodeId x = g.input();
  if (!on_image) x = g.pad_shortcut("carrier", x, c.channels, 1);
  g.conv("conv", x,
         {.filters = c.filters,
          .kernel = c.kernel,
          .stride = c.stride,
          .padding = c.padding,
          .bias = c.bias});
  return std::move(g).finish();
}

/// Everything that a convolution reads, and what it shall give. In bf16 all but the bias is such
/// numbers; the bias is fp32.
struct ConvData {
  Precision precision;
  ConvNode node;
  Tensor x;
  Vector weight, bias;
  Tensor dy;

  ConvData(const Graph& graph, const ConvCase& c, Precision p)
      : precision(p),
        node(std::get<ConvNode>(graph.nodes().back().kind)),
        x(as_stored(random_tensor(1, c.batch, {c.channels, c.height, c.width}), p)),
        weight(as_stored(random_vector(2, graph.parameter(node.weight).count), p)),
        bias(random_vector(3, c.bias ? static_cast<std::size_t>(c.filters) : 0)),
        dy(as_stored(random_tensor(4, c.batch, graph.shape(graph.logits())), p)) {}

  /// As the arena has them.
  Vector parameters() const {
    Vector all = weight;
    all.insert(all.end(), bias.begin(), bias.end());
    return all;
  }
};

void check_forward(const ConvData& d, const Tensor& y) {
  const Tensor magnitude = conv(magnitudes(d.x), magnitudes(d.weight), magnitudes(d.bias), d.node);
  const int terms = d.node.kernel * d.node.kernel * d.x.c + 1;
  CHECK(excess(y.values, conv(d.x, d.weight, d.bias, d.node).values, magnitude.values, terms,
               d.precision) <= 1);
}

void check_data_gradient(const ConvData& d, const Tensor& dx) {
  const Tensor magnitude = conv_data_gradient(d.x, magnitudes(d.weight), d.node, magnitudes(d.dy));
  const int terms = d.node.kernel * d.node.kernel * d.node.filters;
  CHECK(excess(dx.values, conv_data_gradient(d.x, d.weight, d.node, d.dy).values, magnitude.values,
               terms, d.precision) <= 1);
}

/// Of fp32 accuracy in either precision.
void check_parameter_gradients(const ConvData& d, const OperationBench& bench) {
  const int terms = d.dy.n * d.dy.h * d.dy.w;
  CHECK(excess(bench.parameter_gradient(d.node.weight), conv_weight_gradient(d.x, d.node, d.dy),
               conv_weight_gradient(magnitudes(d.x), d.node, magnitudes(d.dy)), terms) <= 1);
  if (d.bias.empty()) return;
  CHECK(excess(bench.parameter_gradient(d.node.bias), conv_bias_gradient(d.dy),
               conv_bias_gradient(magnitudes(d.dy)), terms) <= 1);
}

void check_convolution(const ConvCase& c, cpu::ActivationLayout layout, bool on_image,
                       Precision precision) {
  const Graph graph = graph_of(c, on_image);
  const ConvData d(graph, c, precision);
  BenchCase bench_case{graph, graph.logits(), c.batch, layout, d.parameters()};
  bench_case.precision = precision;
  OperationBench bench(bench_case);
  check_forward(d, bench.forward({d.x}));
  const Tensor dx = bench.backward({d.dy}).front();
  if (!on_image) check_data_gradient(d, dx);
  check_parameter_gradients(d, bench);
  CHECK(bench.damage() == "");
  bench_case.mode = Mode::infer;
  OperationBench inference(bench_case);
  check_forward(d, inference.forward({d.x}));
}

void check_three_directions(Precision precision) {
  for (const auto layout : kLayouts) {
    for (const ConvCase& c : kCases) {
      CAPTURE(to_string(layout), c.channels, c.filters, c.kernel, c.stride, c.height, c.width,
              c.batch, c.bias);
      check_convolution(c, layout, false, precision);
    }
  }
}

TEST_CASE("cpu convolution in its three directions", "[cpu][operations]") {
  check_three_directions(Precision::fp32);
}

TEST_CASE("cpu convolution in its three directions in bf16", "[cpu][operations][bf16]") {
  check_three_directions(Precision::bf16);
}

void check_image(Precision precision) {
  for (const auto layout : kLayouts) {
    for (const ConvCase& c :
         {ConvCase{3, 16, 3, 1, 1, 7, 6, 5, false}, ConvCase{3, 16, 7, 2, 3, 9, 9, 1, true},
          ConvCase{3, 5, 3, 2, 1, 6, 5, 1, true}}) {
      CAPTURE(to_string(layout), c.filters, c.kernel, c.stride, c.batch, c.bias);
      check_convolution(c, layout, true, precision);
    }
  }
}

TEST_CASE("cpu convolution of the image", "[cpu][operations]") { check_image(Precision::fp32); }

TEST_CASE("cpu convolution of the image in bf16", "[cpu][operations][bf16]") {
  check_image(Precision::bf16);
}

TEST_CASE("cpu convolution in bf16 takes the nearest bf16 weights", "[cpu][operations][bf16]") {
  const ConvCase c{16, 16, 3, 1, 1, 6, 6, 1, false};
  const Graph graph = graph_of(c, false);
  ConvData d(graph, c, Precision::bf16);
  d.weight = random_vector(2, d.weight.size());
  BenchCase bench_case{graph, graph.logits(), c.batch, kLayouts[1], d.parameters()};
  bench_case.precision = Precision::bf16;
  OperationBench bench(bench_case);
  const Tensor y = bench.forward({d.x});
  const Tensor dx = bench.backward({d.dy}).front();
  d.weight = as_stored(d.weight, Precision::bf16);
  check_forward(d, y);
  check_data_gradient(d, dx);
}

}  // namespace
}  // namespace rueda::test
