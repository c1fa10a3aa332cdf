#include <catch2/catch.hpp>

#include "layer_data.hpp"
#include "tests/support/operation_bench.hpp"
#include "tests/support/reference_ops.hpp"
#include "tests/support/rounding.hpp"

namespace rueda::test {
namespace {

struct Extent {
  int channels, height, width, batch;
  Shape shape() const { return {channels, height, width}; }
};

const std::vector<Extent> kExtents = {{16, 4, 4, 1}, {8, 5, 3, 5},  {32, 3, 3, 1}, {3, 5, 4, 5},
                                      {5, 3, 3, 1},  {10, 2, 5, 5}, {17, 3, 3, 1}};

/// f(variant, extent) for all pairs.
template <typename F>
void for_each_case(F f) {
  for (const Variant& variant : variants()) {
    for (const Extent& e : kExtents) {
      CAPTURE(variant.name, e.channels, e.height, e.width, e.batch);
      f(variant, e);
    }
  }
}

/// A graph that begins with a node that passes the image on in the layout under test.
GraphBuilder with_carrier(const Extent& e) {
  GraphBuilder g("bench", e.shape());
  g.pad_shortcut("carrier", g.input(), e.channels, 1);
  return g;
}
constexpr NodeId kCarrier = 1;

/// Random values as activations of this precision hold them.
Tensor drawn(std::uint64_t key, const Extent& e, Precision precision) {
  return as_stored(random_tensor(key, e.batch, e.shape()), precision);
}

Graph add_graph(const Extent& e, bool relu) {
  GraphBuilder g = with_carrier(e);
  const NodeId other = g.pad_shortcut("other", g.input(), e.channels, 1);
  g.add("add", kCarrier, other, relu);
  return std::move(g).finish();
}

void check_add(Precision p) {
  const bool with_relu = GENERATE(false, true);
  const int gradients = GENERATE(1, 2);
  CAPTURE(with_relu, gradients);
  for_each_case([&](const Variant& variant, const Extent& e) {
    const Graph graph = add_graph(e, with_relu);
    const Tensor a = drawn(1, e, p);
    const Tensor b = drawn(2, e, p);
    std::vector<Tensor> dy = {drawn(3, e, p)};
    if (gradients == 2) dy.push_back(drawn(4, e, p));
    OperationBench bench({graph, e.batch, variant, p, {}, Mode::train, {}, gradients});

    const Tensor before = sum(a, b);
    const Tensor y = with_relu ? relu(before) : before;
    CHECK(excess(bench.forward({a, b}).values, y.values, magnitudes(before).values, 1, p) <= 1);
    // Without a ReLU the gradients pass through, and nothing is left to do.
    CHECK(bench.needs().passes_gradient == (with_relu ? 0U : 0b11U));
    if (!with_relu) return;
    const Tensor total = gradients == 2 ? sum(dy[0], dy[1]) : dy[0];
    const Tensor dx = relu_gradient(before, total);
    CHECK(excess(bench.backward(dy).front().values, dx.values, magnitudes(total).values, 1, p) <=
          1);
    CHECK(bench.damage() == "");
  });
}

TEST_CASE_OF_PRECISION("add, with and without ReLU, of one and two gradients",
                       "[backend][operations]", check_add)

void check_max_pool(Precision p) {
  for_each_case([&](const Variant& variant, const Extent& e) {
    for (const MaxPoolNode& node :
         {MaxPoolNode{3, 2, 1}, MaxPoolNode{3, 2, 1, PoolPadding::zeros}, MaxPoolNode{1, 2, 0},
          MaxPoolNode{2, 2, 0}, MaxPoolNode{2, 1, 0}, MaxPoolNode{3, 1, 2}}) {
      CAPTURE(node.kernel, node.stride, node.padding, node.filled_with == PoolPadding::zeros);
      GraphBuilder g = with_carrier(e);
      g.max_pool("pool", kCarrier, node);
      const Graph graph = std::move(g).finish();
      // Most below zero, so that zeros in the padding win often, but not always.
      const Tensor x = as_stored(random_tensor(5, e.batch, e.shape(), 1.0, -0.7), p);
      const Tensor dy = as_stored(random_tensor(6, e.batch, graph.shape(graph.logits())), p);
      OperationBench bench({graph, e.batch, variant, p});
      CHECK(bench.forward({x}).values == max_pool(x, node).values);
      const Tensor dx = bench.backward({dy}).front();
      CHECK(excess(dx.values, max_pool_gradient(x, node, dy).values,
                   max_pool_gradient(x, node, magnitudes(dy)).values, 9, p) <= 1);
      CHECK(bench.damage() == "");
      OperationBench inference({graph, e.batch, variant, p, {}, Mode::infer});
      CHECK(inference.forward({x}).values == max_pool(x, node).values);
    }
  });
}

TEST_CASE_OF_PRECISION("max pool", "[backend][operations]", check_max_pool)

void check_pad_shortcut(Precision p) {
  for_each_case([&](const Variant& variant, const Extent& e) {
    for (const int added : {0, 2, 4, 8, 16, 2 * e.channels}) {
      for (const int stride : {1, 2}) {
        CAPTURE(added, stride);
        GraphBuilder g = with_carrier(e);
        g.pad_shortcut("shortcut", kCarrier, e.channels + added, stride);
        const Graph graph = std::move(g).finish();
        const Shape out = graph.shape(graph.logits());
        const Tensor x = drawn(7, e, p);
        const Tensor dy = as_stored(random_tensor(8, e.batch, out), p);
        OperationBench bench({graph, e.batch, variant, p});
        CHECK(bench.forward({x}).values == pad_shortcut(x, {stride}, out).values);
        CHECK(bench.backward({dy}).front().values == pad_shortcut_gradient(x, {stride}, dy).values);
        CHECK(bench.damage() == "");
      }
    }
  });
}

TEST_CASE_OF_PRECISION("option A shortcut", "[backend][operations]", check_pad_shortcut)

/// From the pooling on all is fp32; only what goes back is of the activations' precision.
void check_global_average_pool(Precision p) {
  for_each_case([&](const Variant& variant, const Extent& e) {
    GraphBuilder g = with_carrier(e);
    g.global_average_pool("pool", kCarrier);
    const Graph graph = std::move(g).finish();
    const Tensor x = drawn(9, e, p);
    const Tensor dy = random_tensor(10, e.batch, {e.channels, 1, 1});
    OperationBench bench({graph, e.batch, variant, p});
    CHECK(excess(bench.forward({x}).values, global_average_pool(x).values,
                 global_average_pool(magnitudes(x)).values, e.height * e.width + 2) <= 1);
    const Tensor dx = global_average_pool_gradient(x, dy);
    CHECK(excess(bench.backward({dy}).front().values, dx.values, magnitudes(dx).values, 2, p) <= 1);
    CHECK(bench.damage() == "");
  });
}

TEST_CASE_OF_PRECISION("global average pool", "[backend][operations]", check_global_average_pool)

Graph dense_graph(const Extent& e, int units) {
  GraphBuilder g = with_carrier(e);
  g.dense("dense", g.global_average_pool("pool", kCarrier), {.units = units});
  return std::move(g).finish();
}

/// fp32 whatever the activations are.
void check_dense(Precision p) {
  for_each_case([&](const Variant& variant, const Extent& e) {
    const int units = e.batch == 1 ? 10 : 7;
    const Graph graph = dense_graph(e, units);
    const auto& node = std::get<DenseNode>(graph.nodes().back().kind);
    const Tensor x = random_tensor(11, e.batch, {e.channels, 1, 1});
    const Tensor dy = random_tensor(12, e.batch, {units, 1, 1});
    const Vector w = random_vector(13, graph.parameter(node.weight).count);
    const Vector b = random_vector(14, graph.parameter(node.bias).count);
    OperationBench bench({graph, e.batch, variant, p, joined(w, b)});

    CHECK(excess(bench.forward({x}).values, dense(x, w, b).values,
                 dense(magnitudes(x), magnitudes(w), magnitudes(b)).values, e.channels + 1) <= 1);
    CHECK(excess(bench.backward({dy}).front().values, dense_data_gradient(x, w, dy).values,
                 dense_data_gradient(x, magnitudes(w), magnitudes(dy)).values, units) <= 1);
    CHECK(excess(bench.parameter_gradient(node.weight), dense_weight_gradient(x, dy),
                 dense_weight_gradient(magnitudes(x), magnitudes(dy)), e.batch) <= 1);
    CHECK(excess(bench.parameter_gradient(node.bias), dense_bias_gradient(dy),
                 dense_bias_gradient(magnitudes(dy)), e.batch) <= 1);
    CHECK(bench.damage() == "");
  });
}

TEST_CASE_OF_PRECISION("dense", "[backend][operations]", check_dense)

TEST_CASE("operations on activations of another layout are refused by name",
          "[backend][operations]") {
  const auto backend = open_backend_under_test();
  const auto refused = [&](const std::string& name, auto append) {
    GraphBuilder g = with_carrier({8, 4, 4, 1});
    append(g);
    const Graph graph = std::move(g).finish();
    CHECK_THROWS_WITH(backend->make_operation({graph, graph.logits(), 1, Mode::train}),
                      Catch::Contains("layer " + name));
  };
  refused("norm", [](GraphBuilder& g) { g.batch_norm("norm", g.input(), {}); });
  refused("sum", [](GraphBuilder& g) { g.add("sum", kCarrier, g.input(), true); });
  refused("pool", [](GraphBuilder& g) { g.max_pool("pool", g.input(), {2, 2, 0}); });
  refused("late", [](GraphBuilder& g) {
    g.batch_norm("late", g.global_average_pool("pool", kCarrier), {});
  });
  refused("flat", [](GraphBuilder& g) { g.dense("flat", kCarrier, {.units = 10}); });
}

/// Odd channel counts pad blocked layouts, odd sizes leave a row over where the stride is 2. The
/// last are wide enough for Winograd's algorithm, and no size is a multiple of its tiles.
const std::vector<ConvCase> kConvCases = {
    {16, 16, 3, 1, 1, 6, 6, 1, false},  {16, 32, 3, 2, 1, 7, 5, 5, false},
    {8, 16, 1, 2, 0, 7, 6, 5, true},    {32, 8, 1, 1, 0, 5, 5, 1, true},
    {8, 8, 7, 2, 3, 9, 8, 1, true},     {3, 5, 3, 1, 1, 5, 4, 5, true},
    {5, 3, 3, 2, 1, 6, 7, 1, false},    {10, 17, 3, 1, 1, 5, 5, 1, true},
    {17, 10, 1, 2, 0, 5, 7, 5, false},  {3, 10, 7, 2, 3, 9, 9, 1, false},
    {17, 5, 7, 1, 3, 5, 5, 1, true},    {16, 16, 3, 1, 0, 5, 6, 1, true},
    {8, 24, 3, 2, 1, 6, 6, 2, true},    {16, 8, 3, 1, 1, 1, 2, 3, true},
    {32, 96, 3, 1, 1, 9, 5, 13, false}, {64, 32, 3, 1, 1, 7, 7, 17, false},
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

void check_convolutions(Precision precision) {
  for (const Variant& variant : variants()) {
    for (const bool on_image : {false, true}) {
      for (const ConvCase& c : on_image ? kImageCases : kConvCases) {
        if (!on_image && !convolves_channels(c.channels)) continue;
        if (!convolves_channels(c.filters)) continue;
        CAPTURE(variant.name, c.channels, c.filters, c.kernel, c.stride, c.height, c.width, c.batch,
                c.bias);
        check_convolution(c, variant, on_image, precision);
      }
    }
  }
}
TEST_CASE_OF_PRECISION("convolution in its three directions, of the image too",
                       "[backend][operations]", check_convolutions)

/// Convolutions that add a second input to their result.
const std::vector<ConvCase> kResidualCases = {{16, 16, 3, 1, 1, 6, 6, 1, false},
                                              {8, 16, 1, 1, 0, 5, 6, 3, true},
                                              {16, 8, 3, 2, 1, 7, 5, 2, true},
                                              {24, 8, 1, 1, 0, 3, 3, 5, false}};

/// The residual has the output's shape.
Graph residual_graph(const ConvCase& c) {
  GraphBuilder g("conv", {c.channels, c.height, c.width});
  const NodeId x = g.pad_shortcut("carrier", g.input(), c.channels, 1);
  const NodeId skip = g.conv("skip", x, c.options());
  g.add("sum", skip, g.conv("conv", x, c.options()), false);
  return open_backend_under_test()->prepare(std::move(g).finish());
}

void check_residual(const ConvCase& c, const Variant& variant, Precision precision) {
  const Graph graph = residual_graph(c);
  REQUIRE(graph.nodes().back().inputs == std::vector<NodeId>{1, 2});
  ConvData d(graph, c, precision);
  d.residual = as_stored(random_tensor(7, d.dy.n, graph.shape(graph.logits())), precision);
  // Those of the later layer lie first in the arena; the other one's are the same here.
  const Vector parameters = joined(d.parameters(), d.parameters());
  BenchCase bench_case{graph, c.batch, variant, precision, parameters};
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

void check_residuals(Precision precision) {
  for (const Variant& variant : variants()) {
    for (const ConvCase& c : kResidualCases) {
      CAPTURE(variant.name, c.channels, c.filters, c.kernel, c.stride, c.batch, c.bias);
      check_residual(c, variant, precision);
    }
  }
}

TEST_CASE_OF_PRECISION("convolution with a residual", "[backend][operations]", check_residuals)

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
  GraphBuilder g = with_carrier({c.channels, c.height, c.width, c.batch});
  g.batch_norm("norm", kCarrier, {.epsilon = c.epsilon, .relu = c.relu});
  return std::move(g).finish();
}

void check_norms(Precision precision) {
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
      check_inference(graph, c, precision, variant);
    }
  }
}

TEST_CASE_OF_PRECISION("batch norm in training, and in inference with the running statistics",
                       "[backend][operations]", check_norms)

}  // namespace
}  // namespace rueda::test
