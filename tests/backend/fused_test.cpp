// Operations and networks with fused additions, on backends that fuse them.
#include <catch2/catch.hpp>

#include "../support/backend_under_test.hpp"
#include "../support/replica_bench.hpp"
#include "../support/small_graphs.hpp"
#include "backend/program.hpp"
#include "layer_data.hpp"

namespace rueda::test {
namespace {

// Batch norm: a second input added before the ReLU, two incoming gradients, another reader's share
// of the gradient.

/// Widths that fill vectors and those that do not.
const std::vector<NormCase> kNorms = {
    {16, 4, 4, 5, 1e-5F, false},   {16, 3, 5, 2, 1e-5F, true},
    {5, 4, 3, 3, 1.001e-5F, true}, {8, 3, 3, 4, 1e-3F, true},
    {12, 5, 5, 3, 1e-5F, false},   {40, 23, 19, 3, 1e-5F, true}};  // rows of several blocks

struct Company {
  bool residual, second_gradient, addend;
};

const std::vector<Company> kCompanies = {
    {true, false, false},  {true, true, false},  {true, true, true},  {true, false, true},
    {false, false, false}, {false, true, false}, {false, true, true}, {false, false, true}};

Graph norm_graph(const NormCase& c, bool residual) {
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
  for (double& v : total.values) v = double(float(v));
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
  const Graph graph = norm_graph(norm, company.residual);
  NormData d(graph, norm, precision);
  if (company.residual) d.residual = drawn(7);
  for (const double v : d.before_relu().values) REQUIRE(std::abs(v) > 1e-5);
  OperationBench bench({.graph = graph,
                        .batch = norm.batch,
                        .variant = variant,
                        .precision = precision,
                        .parameters = d.parameters(),
                        .output_gradients = company.second_gradient ? 2 : 1,
                        .gradient_addend = company.addend});
  CHECK(bench.needs().sums_gradients);
  CHECK(bench.needs().adds_to_gradient);
  std::vector<Tensor> inputs = {d.x};
  if (company.residual) inputs.push_back(d.residual);
  check_output(d, bench.forward(inputs));
  check_statistics(d, bench.batch_statistics());
  check_backward(d, bench);
  CHECK(bench.damage() == "");
}

void check_norms(Precision precision) {
  for (const Variant& variant : variants()) {
    for (const NormCase& norm : kNorms) {
      for (const Company& company : kCompanies) Run{precision, norm, company}.check(variant);
    }
  }
}

TEST_CASE_OF_PRECISION("batch norm with a residual, two gradients and an addend",
                       "[backend][operations]", check_norms)

TEST_CASE("batch norm with a residual in inference", "[backend][operations]") {
  for (const NormCase& norm : kNorms) {
    CAPTURE(norm.channels, norm.relu);
    const Run run{Precision::fp32, norm, {true, false, false}};
    check_inference(norm_graph(norm, true), norm, run.precision, variants().front(), run.drawn(7));
  }
}

// Whole networks with and without fused additions.

/// What a program is run on: a backend of its own, a batch, parameters.
struct ProgramInput {
  Variant variant;
  const ImageSet& images;
  std::vector<std::uint32_t> indices;
  Vector parameters;
  float scale;
};

struct ProgramStep {
  double loss = 0;
  Vector gradients;
  Vector statistics;
};

/// One training step of exactly this graph, which a replica would prepare first.
ProgramStep run_program(const Graph& graph, const ProgramInput& in) {
  const auto backend = open_backend_under_test(in.variant, Precision::fp32);
  Program program(graph, *backend, int(in.indices.size()), Mode::train);
  const ProgramArenas arenas(*backend, graph);
  backend->upload(arenas.memory().values, to_floats(in.parameters));
  backend->upload(arenas.memory().gradients,
                  std::vector<float>(arenas.memory().gradients.size(), NAN));
  backend->bind_parameters(graph, arenas.memory());
  backend->pack_parameters();
  const auto pool = backend->allocate(program.pool_bytes());
  program.bind(pool.data());
  const auto held = backend->hold(in.images);
  backend->make_batch(
      {held.get(), in.indices, plain_transform(graph.shape(graph.input()).height), 0, 0},
      program.input(), program.labels());
  program.forward();
  const DeviceValues<LossSums> sums(*backend, {LossSums{}});
  const DeviceFloats scale(*backend, {in.scale});
  backend->softmax_cross_entropy({.logits = program.logits(),
                                  .labels = program.labels(),
                                  .rows = program.batch(),
                                  .classes = graph.classes(),
                                  .sums = sums.data(),
                                  .scale = scale.data(),
                                  .gradient = program.logits_gradient()});
  program.backward();
  return {double(sums.read().front().loss),
          to_doubles(read_floats(*backend, arenas.memory().gradients)),
          to_doubles(read_floats(*backend, arenas.memory().batch_statistics))};
}

constexpr int kSide = 9;
/// As those of a replica against the reference (replica_gradients_test.cpp).
constexpr double kNetworkTolerance = 2e-5;
constexpr double kKinkDistance = 1e-4;
constexpr float kScale = 0.125F;

void check_fusion(const SmallGraph& small, const Variant& variant) {
  const Graph graph = small.build(kSide);
  const Graph fused = open_backend_under_test(variant, Precision::fp32)->prepare(graph);
  const bool has_less = fused.nodes().size() < graph.nodes().size();
  CHECK(has_less == (small.name != "three readers"));
  const ImageSet images = random_images(8);
  const std::vector<std::uint32_t> indices = {1, 2, 7, 4};
  const ReferenceBatch batch = reference_batch(images, indices, kSide);
  const Vector parameters = smooth_parameters(graph, batch.input, batch.labels, kKinkDistance);
  const ReferenceStep expected =
      reference_step(graph, parameters, batch.input, batch.labels, double(kScale));
  const ProgramInput input{variant, images, indices, parameters, kScale};
  const ProgramStep plain = run_program(graph, input);
  const ProgramStep together = run_program(fused, input);
  check_gradients(graph, plain.gradients, expected.gradients, kNetworkTolerance);
  check_gradients(graph, together.gradients, expected.gradients, kNetworkTolerance);
  check_gradients(graph, together.gradients, plain.gradients, kNetworkTolerance);
  CHECK(together.loss == Approx(plain.loss).epsilon(kNetworkTolerance));
  CHECK(together.loss == Approx(expected.loss).epsilon(kNetworkTolerance));
  if (!has_less)
    CHECK(joined(together.gradients, together.statistics) ==
          joined(plain.gradients, plain.statistics));
}

TEST_CASE("fused networks have the gradients of the unfused ones", "[backend][replica]") {
  for (const Variant& variant : {variants().front(), repeatable_variant()}) {
    for (const SmallGraph& small : small_graphs()) {
      CAPTURE(variant.name, small.name);
      check_fusion(small, variant);
    }
  }
}

}  // namespace
}  // namespace rueda::test
