#include <catch2/catch.hpp>

#include "norm_data.hpp"
#include "tests/support/fp32_tolerance.hpp"

namespace rueda::test {
namespace {

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

void check_training(Precision precision) {
  for (const Variant& variant : variants()) {
    for (const NormCase& c : kCases) {
      CAPTURE(variant.name, c.channels, c.height, c.width, c.batch, c.epsilon, c.relu);
      const Graph graph = graph_of(c);
      const NormData d(graph, c, precision);
      for (const double v : d.before_relu().values) REQUIRE(std::abs(v) > 1e-5);
      BenchCase bench_case{graph, graph.logits(), c.batch, variant, d.parameters()};
      bench_case.precision = precision;
      OperationBench bench(bench_case);
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
    for (const NormCase& c : kCases) {
      CAPTURE(variant.name, c.channels, c.batch, c.epsilon, c.relu);
      check_inference(graph_of(c), c, precision, variant);
    }
  }
}

TEST_CASE_OF_PRECISION("batch norm in inference takes the running statistics",
                       "[backend][operations]", check_running)

}  // namespace
}  // namespace rueda::test
