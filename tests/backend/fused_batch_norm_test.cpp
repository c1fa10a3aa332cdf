// What batch norm does on the way, on backends that fuse additions: a second input added before the
// ReLU, two incoming gradients, another reader's share of the gradient.
#include <catch2/catch.hpp>

#include "norm_data.hpp"
#include "tests/support/fp32_tolerance.hpp"

namespace rueda::test {
namespace {

/// Widths that fill vectors and those that do not.
const std::vector<NormCase> kCases = {{16, 4, 4, 5, 1e-5F, false},
                                      {16, 3, 5, 2, 1e-5F, true},
                                      {5, 4, 3, 3, 1.001e-5F, true},
                                      {8, 3, 3, 4, 1e-3F, true},
                                      {12, 5, 5, 3, 1e-5F, false}};

struct Company {
  bool residual, second_gradient, addend;
};

const std::vector<Company> kCompanies = {
    {true, false, false},  {true, true, false},  {true, true, true},  {true, false, true},
    {false, false, false}, {false, true, false}, {false, true, true}, {false, false, true}};

Graph graph_of(const NormCase& c, bool residual) {
  GraphBuilder g("norm", {c.channels, c.height, c.width});
  const NodeId x = g.pad_shortcut("carrier", g.input(), c.channels, 1);
  const NodeId other = g.pad_shortcut("other", g.input(), c.channels, 1);
  const NodeId norm = g.batch_norm("norm", x, {.epsilon = c.epsilon, .relu = c.relu && !residual});
  if (residual) g.add("sum", norm, other, c.relu);
  return open_backend_under_test()->prepare(std::move(g).finish());
}

/// Two gradients, summed as the kernels do it: in fp32, and stored where it goes to the residual.
Tensor summed(const std::vector<Tensor>& gradients, Precision stored) {
  Tensor total = gradients.front();
  if (gradients.size() == 2) total = sum(total, gradients.back());
  for (double& v : total.values) v = static_cast<double>(static_cast<float>(v));
  return as_stored(std::move(total), stored);
}

struct Run {
  Precision precision;
  NormCase norm;
  Company company;

  Tensor drawn(std::uint64_t key) const {
    return as_stored(random_tensor(key, norm.batch, {norm.channels, norm.height, norm.width}),
                     precision);
  }
  void check(const Variant& variant) const;
  void check_backward(NormData& d, OperationBench& bench) const;
};

void Run::check_backward(NormData& d, OperationBench& bench) const {
  std::vector<Tensor> dy = {d.dy};
  if (company.second_gradient) dy.push_back(drawn(8));
  if (company.addend) d.addend = drawn(9);
  const std::vector<Tensor> dx = bench.backward(dy, d.addend);
  d.dy = summed(dy, company.residual ? precision : Precision::fp32);
  check_gradients(d, bench, dx.front());
  if (company.residual) CHECK(dx.at(1).values == d.gradient_behind_relu().values);
}

void Run::check(const Variant& variant) const {
  CAPTURE(variant.name, norm.channels, norm.height, norm.width, norm.batch, norm.relu);
  CAPTURE(company.residual, company.second_gradient, company.addend);
  const Graph graph = graph_of(norm, company.residual);
  NormData d(graph, norm, precision);
  if (company.residual) d.residual = drawn(7);
  for (const double v : d.before_relu().values) REQUIRE(std::abs(v) > 1e-5);
  BenchCase bench_case{graph, graph.logits(), norm.batch, variant, d.parameters()};
  bench_case.precision = precision;
  bench_case.output_gradients = company.second_gradient ? 2 : 1;
  bench_case.gradient_addend = company.addend;
  OperationBench bench(bench_case);
  CHECK(bench.needs().sums_gradients);
  CHECK(bench.needs().adds_to_gradient);
  std::vector<Tensor> inputs = {d.x};
  if (company.residual) inputs.push_back(d.residual);
  check_output(d, bench.forward(inputs));
  check_statistics(d, bench.batch_statistics());
  check_backward(d, bench);
  CHECK(bench.damage() == "");
}

void check_all(Precision precision) {
  for (const Variant& variant : variants()) {
    for (const NormCase& norm : kCases) {
      for (const Company& company : kCompanies) Run{precision, norm, company}.check(variant);
    }
  }
}

TEST_CASE("batch norm with a residual, two gradients and an addend", "[backend][operations]") {
  check_all(Precision::fp32);
}

TEST_CASE("batch norm with a residual, two gradients and an addend in bf16",
          "[backend][operations][bf16]") {
  check_all(Precision::bf16);
}

TEST_CASE("batch norm with a residual in inference", "[backend][operations]") {
  for (const NormCase& norm : kCases) {
    CAPTURE(norm.channels, norm.relu);
    const Run run{Precision::fp32, norm, {true, false, false}};
    const Graph graph = graph_of(norm, true);
    NormData d(graph, norm, run.precision);
    d.residual = run.drawn(7);
    d.moments = {random_vector(5, d.gamma.size()), random_vector(6, d.gamma.size(), 0.4, 0.5)};
    Vector running = d.moments.mean;
    running.insert(running.end(), d.moments.variance.begin(), d.moments.variance.end());
    OperationBench bench({graph, graph.logits(), norm.batch, variants().front(), d.parameters(),
                          Mode::infer, running});
    const Tensor y = bench.forward({d.x, d.residual});
    const Tensor expected = norm.relu ? relu(d.before_relu()) : d.before_relu();
    const Vector magnitude(y.size(), 2.4 * 1.5 / std::sqrt(0.1) + 2);
    CHECK(excess(y.values, expected.values, magnitude, 1) <= 1);
    CHECK(bench.damage() == "");
  }
}

}  // namespace
}  // namespace rueda::test
