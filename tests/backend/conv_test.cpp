#include <catch2/catch.hpp>

#include "layer_data.hpp"
#include "tests/support/rounding.hpp"

namespace rueda::test {
namespace {

/// Odd channel counts pad blocked layouts, odd sizes leave a row over where the stride is 2.
const std::vector<ConvCase> kConvCases = {
    {16, 16, 3, 1, 1, 6, 6, 1, false}, {16, 32, 3, 2, 1, 7, 5, 5, false},
    {8, 16, 1, 2, 0, 7, 6, 5, true},   {32, 8, 1, 1, 0, 5, 5, 1, true},
    {8, 8, 7, 2, 3, 9, 8, 1, true},    {3, 5, 3, 1, 1, 5, 4, 5, true},
    {5, 3, 3, 2, 1, 6, 7, 1, false},   {10, 17, 3, 1, 1, 5, 5, 1, true},
    {17, 10, 1, 2, 0, 5, 7, 5, false}, {3, 10, 7, 2, 3, 9, 9, 1, false},
    {17, 5, 7, 1, 3, 5, 5, 1, true},   {16, 16, 3, 1, 0, 5, 6, 1, true},
    {8, 24, 3, 2, 1, 6, 6, 2, true},
};

/// All extents of the image are padded in one backend or another.
const std::vector<ConvCase> kImageCases = {{3, 16, 3, 1, 1, 7, 6, 5, false},
                                           {3, 16, 7, 2, 3, 9, 9, 1, true},
                                           {3, 5, 3, 2, 1, 6, 5, 1, true},
                                           {3, 8, 3, 2, 1, 6, 5, 2, true}};

Graph conv_graph(const ConvCase& c, bool on_image) {
  GraphBuilder g("conv", {c.channels, c.height, c.width});
  NodeId x = g.input();
  if (!on_image) x = g.pad_shortcut("carrier", x, c.channels, 1);
  g.conv("conv", x, c.options());
  return std::move(g).finish();
}

void check_convolution(const ConvCase& c, const Variant& variant, bool on_image,
                       Precision precision) {
  const Graph graph = conv_graph(c, on_image);
  const ConvData d(graph, c, precision);
  BenchCase bench_case{graph, c.batch, variant, precision, d.parameters()};
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

void check_cases(const std::vector<ConvCase>& cases, bool on_image, Precision precision) {
  for (const Variant& variant : variants()) {
    for (const ConvCase& c : cases) {
      if (!on_image && !convolves_channels(c.channels)) continue;
      if (!convolves_channels(c.filters)) continue;
      CAPTURE(variant.name, c.channels, c.filters, c.kernel, c.stride, c.height, c.width, c.batch,
              c.bias);
      check_convolution(c, variant, on_image, precision);
    }
  }
}

void check_all(Precision precision) {
  check_cases(kConvCases, false, precision);
  check_cases(kImageCases, true, precision);
}

TEST_CASE_OF_PRECISION("convolution in its three directions, of the image too",
                       "[backend][operations]", check_all)

TEST_CASE("convolution in bf16 takes the nearest bf16 weights", "[backend][operations][bf16]") {
  const ConvCase c{16, 16, 3, 1, 1, 6, 6, 1, false};
  const Graph graph = conv_graph(c, false);
  ConvData d(graph, c, Precision::bf16);
  d.weight = random_vector(2, d.weight.size());
  OperationBench bench({graph, c.batch, variants().back(), Precision::bf16, d.parameters()});
  const Tensor y = bench.forward({d.x});
  const Tensor dx = bench.backward({d.dy}).front();
  d.weight = as_stored(d.weight, Precision::bf16);
  check_forward(d, y);
  check_data_gradient(d, dx);
}

const std::vector<NormCase> kNormCases = {
    {16, 4, 4, 5, 1e-5F, false}, {16, 3, 5, 1, 1e-5F, true}, {32, 5, 3, 5, 1.001e-5F, true},
    {8, 4, 3, 5, 1e-3F, true},   {3, 5, 5, 5, 1e-5F, false}, {5, 3, 3, 1, 1.001e-5F, true},
    {10, 4, 4, 5, 1e-3F, false}, {17, 3, 4, 5, 1e-5F, true}, {16, 1, 1, 5, 1e-5F, false},
};

Graph norm_graph(const NormCase& c) {
  GraphBuilder g("norm", {c.channels, c.height, c.width});
  const NodeId x = g.pad_shortcut("carrier", g.input(), c.channels, 1);
  g.batch_norm("norm", x, {.epsilon = c.epsilon, .relu = c.relu});
  return std::move(g).finish();
}

void check_training(Precision precision) {
  for (const Variant& variant : variants()) {
    for (const NormCase& c : kNormCases) {
      CAPTURE(variant.name, c.channels, c.height, c.width, c.batch, c.epsilon, c.relu);
      const Graph graph = norm_graph(c);
      const NormData d(graph, c, precision);
      for (const double v : d.before_relu().values) REQUIRE(std::abs(v) > 1e-5);
      OperationBench bench({graph, c.batch, variant, precision, d.parameters()});
      check_output(d, bench.forward({d.x}));
      check_statistics(d, bench.batch_statistics());
      check_gradients(d, bench, bench.backward({d.dy}).front());
      CHECK(bench.damage() == "");
    }
  }
}

TEST_CASE_OF_PRECISION("batch norm in training", "[backend][operations]", check_training)

void check_running(Precision precision) {
  for (const Variant& variant : variants()) {
    for (const NormCase& c : kNormCases) {
      CAPTURE(variant.name, c.channels, c.batch, c.epsilon, c.relu);
      check_inference(norm_graph(c), c, precision, variant);
    }
  }
}

TEST_CASE_OF_PRECISION("batch norm in inference takes the running statistics",
                       "[backend][operations]", check_running)

}  // namespace
}  // namespace rueda::test
