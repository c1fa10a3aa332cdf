// Convolutions that add a second input to their result, on backends that fuse additions.
#include <catch2/catch.hpp>

#include "conv_data.hpp"

namespace rueda::test {
namespace {

const std::vector<ConvCase> kCases = {{16, 16, 3, 1, 1, 6, 6, 1, false},
                                      {8, 16, 1, 1, 0, 5, 6, 3, true},
                                      {16, 8, 3, 2, 1, 7, 5, 2, true},
                                      {24, 8, 1, 1, 0, 3, 3, 5, false}};

/// The residual has the output's shape.
Graph fused_graph(const ConvCase& c) {
  GraphBuilder g("conv", {c.channels, c.height, c.width});
  const NodeId x = g.pad_shortcut("carrier", g.input(), c.channels, 1);
  const NodeId skip = g.conv("skip", x, c.options());
  g.add("sum", skip, g.conv("conv", x, c.options()), false);
  return open_backend_under_test()->prepare(std::move(g).finish());
}

void check_fused(const ConvCase& c, const Variant& variant, Precision precision) {
  const Graph graph = fused_graph(c);
  REQUIRE(graph.nodes().back().inputs == std::vector<NodeId>{1, 2});
  ConvData d(graph, c, precision);
  d.residual = as_stored(random_tensor(7, d.dy.n, graph.shape(graph.logits())), precision);
  // Those of the later layer lie first in the arena; the other one's are the same here.
  Vector parameters = d.parameters();
  parameters.insert(parameters.end(), parameters.begin(), parameters.end());
  BenchCase bench_case{graph, graph.logits(), c.batch, variant, parameters};
  bench_case.precision = precision;
  OperationBench bench(bench_case);
  CHECK(bench.needs().passes_gradient == 0b10U);
  check_forward(d, bench.forward({d.x, d.residual}));
  check_data_gradient(d, bench.backward({d.dy}).front());
  check_parameter_gradients(d, bench);
  CHECK(bench.damage() == "");
  bench_case.mode = Mode::infer;
  OperationBench inference(bench_case);
  check_forward(d, inference.forward({d.x, d.residual}));
}

void check_cases(Precision precision) {
  for (const Variant& variant : variants()) {
    for (const ConvCase& c : kCases) {
      CAPTURE(variant.name, c.channels, c.filters, c.kernel, c.stride, c.batch, c.bias);
      check_fused(c, variant, precision);
    }
  }
}

TEST_CASE("convolution with a residual", "[backend][operations]") { check_cases(Precision::fp32); }

TEST_CASE("convolution with a residual in bf16", "[backend][operations][bf16]") {
  check_cases(Precision::bf16);
}

}  // namespace
}  // namespace rueda::test
