#include "backend/replica.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <catch2/catch.hpp>

#include "tests/support/backend_under_test.hpp"
#include "tests/support/reference_ops.hpp"
#include "tests/support/replica_bench.hpp"
#include "tests/support/small_graphs.hpp"

namespace rueda::test {
namespace {

constexpr int kTestSide = 9;
using Indices = std::vector<std::uint32_t>;

TEST_CASE("replica: the same bits when run twice", "[backend][replica]") {
  const ImageSet images = random_images(8);
  for (const SmallGraph& small : small_graphs()) {
    CAPTURE(small.name);
    const Graph graph = small.build(kTestSide);
    ReplicaBench bench(graph, images, some_parameters(graph), {4});
    bench.step({0, 1, 2, 3}, 0.25F);
    const std::vector<float> once = bench.gradients();
    bench.step({4, 5, 6, 7}, 0.25F);
    CHECK(bench.gradients() != once);
    bench.step({0, 1, 2, 3}, 0.25F);
    CHECK(bench.gradients() == once);
    ReplicaBench other(graph, images, some_parameters(graph), {4});
    other.step({0, 1, 2, 3}, 0.25F);
    CHECK(other.gradients() == once);
  }
}

TEST_CASE("replica: batch sizes that share a pool do not disturb each other",
          "[backend][replica]") {
  const ImageSet images = random_images(8);
  const Indices three = {5, 0, 3};
  for (const SmallGraph& small : small_graphs()) {
    CAPTURE(small.name);
    const Graph graph = small.build(kTestSide);
    ReplicaBench alone(graph, images, some_parameters(graph), {3});
    alone.step(three, 0.25F);
    ReplicaBench shared(graph, images, some_parameters(graph), {1, 3, 5, 0, 3}, {2});
    shared.step({1, 2, 3, 4, 5}, 0.25F);
    shared.infer({6, 7});
    shared.step({2}, 0.25F);
    shared.step(three, 0.25F);
    CHECK(shared.gradients() == alone.gradients());
  }
}

TEST_CASE("replica: planned anew for other sizes, the bits are those of a new one",
          "[backend][replica]") {
  const ImageSet images = random_images(8);
  for (const SmallGraph& small : small_graphs()) {
    CAPTURE(small.name);
    const Graph graph = small.build(kTestSide);
    ReplicaBench fresh(graph, images, some_parameters(graph), {5, 2}, {3});
    fresh.step({1, 2, 3, 4, 5}, 0.25F);
    const std::vector<float> expected = fresh.gradients();
    const float loss = fresh.infer({0, 6, 7}).loss;
    ReplicaBench bench(graph, images, some_parameters(graph), {3}, {2});
    bench.step({5, 0, 3}, 0.25F);
    bench.step({5, 0, 3}, 0.25F);  // a GPU has recorded it
    Replica& replica = bench.replica();
    const std::size_t half = replica.gradients().size() / 2;
    replica.announce_buckets({half, 2 * half});
    replica.forget_plan();
    const std::vector<std::size_t> train{5, 2}, infer{3};
    replica.take_plan(std::make_unique<ReplicaPlan>(graph, replica.backend(), train, infer));
    for (std::uint64_t i = 0; i < 3; ++i) {
      bench.load({1, 2, 3, 4, 5});
      replica.compute(0.25F);
      CHECK(bench.gradients() == expected);
      for (const std::size_t bucket : {0, 1}) CHECK(replica.backend().announced(bucket) == i + 1);
    }
    CHECK(bench.infer({0, 6, 7}).loss == loss);
  }
}

TEST_CASE("replica: an empty micro-batch leaves zeros", "[backend][replica]") {
  const ImageSet images = random_images(4);
  const Graph graph = small_option_a(kTestSide);
  ReplicaBench bench(graph, images, some_parameters(graph), {2, 0}, {0});
  bench.step({0, 1}, 0.5F);
  bench.step({}, 0.5F);
  CHECK(bench.gradients() == std::vector<float>(GradientLayout(graph).total(), 0.0F));
  CHECK(bench.infer({}).loss == 0.0F);
}

TEST_CASE("replica: written parameters count from parameters_changed on", "[backend][replica]") {
  const ImageSet images = random_images(4);
  const Graph graph = small_projection(kTestSide);
  Vector parameters = some_parameters(graph);
  ReplicaBench fresh(graph, images, parameters, {2});
  fresh.step({0, 1}, 0.5F);
  for (double& v : parameters) v *= 0.5;
  ReplicaBench changed(graph, images, parameters, {2});
  changed.step({0, 1}, 0.5F);
  changed.set_parameters(to_floats(some_parameters(graph)));
  changed.step({0, 1}, 0.5F);
  CHECK(changed.gradients() == fresh.gradients());
}

TEST_CASE("replica: initial values are ready to train", "[backend][replica]") {
  const ImageSet images = random_images(4);
  const Graph graph = small_projection(kTestSide);
  ReplicaBench written(graph, images, some_parameters(graph), {2});
  written.replica().initialise(5);
  written.step({0, 1}, 0.5F);
  const std::vector<float> gradients = written.gradients();
  written.set_parameters(written.read(written.replica().parameters()));
  written.step({0, 1}, 0.5F);
  CHECK(written.gradients() == gradients);
}

/// Whether `p` belongs to a batch norm with a fused ReLU. oneDNN's swallows a NaN of its own scale
/// and shift; what came wrong into the layer shows in its statistics.
bool is_swallowed(const Graph& graph, const Parameter& p) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    const auto* bn = std::get_if<BatchNormNode>(&node.kind);
    return bn != nullptr && bn->relu && p.name.starts_with(node.name + ".");
  });
}

TEST_CASE("replica: a wish to stop travels in the tail, of empty micro-batches too",
          "[backend][replica]") {
  const ImageSet images = random_images(4);
  const SmallGraph small = small_graphs().front();
  const Graph graph = small.build(kTestSide);
  ReplicaBench bench(graph, images, some_parameters(graph), {2});
  bench.step({0, 1}, 0.5F);
  CHECK(bench.replica().step_sums().stop == 0.0F);
  bench.replica().ask_to_stop();
  bench.step({0, 1}, 0.5F);
  CHECK(bench.replica().step_sums().stop == 1.0F);
  bench.step({}, 0.5F);
  CHECK(bench.replica().step_sums().stop == 1.0F);
  CHECK(bench.replica().step_sums().samples == 0.0F);
}

TEST_CASE("replica: a rank's slot in the tail", "[backend][replica]") {
  const Graph graph = small_option_a(kTestSide);
  const auto backend = open_backend_under_test();
  Replica replica(graph, *backend,
                  std::make_unique<ReplicaPlan>(graph, *backend, std::vector<std::size_t>{2},
                                                std::vector<std::size_t>{}, Recompute::none, 3));
  CHECK(replica.gradients().size() == replica.computed().size() + 3 * kSlotFloats);
  std::vector<float> mine(kSlotFloats), expected(3 * kSlotFloats, 0.0F);
  std::iota(mine.begin(), mine.end(), 1.0F);
  const auto found = [&](std::optional<std::size_t> slot) {
    replica.write_slot(slot, std::span<const float, kSlotFloats>(mine));
    replica.load({});
    replica.compute(1);  // an empty micro-batch leaves slots as they are
    replica.read_step_sums();
    backend->finish();
    return std::vector<float>(replica.slots().begin(), replica.slots().end());
  };
  CHECK(found(std::nullopt) == expected);
  std::ranges::copy(mine, expected.begin() + kSlotFloats);
  CHECK(found(1) == expected);
  CHECK(RankSlots(1024).stride == 1);
  CHECK(RankSlots(1025).stride == 2);
  CHECK(RankSlots(1025).count == 513);
  CHECK(RankSlots(1025).slot_of(1024) == 512);
  CHECK_FALSE(RankSlots(1025).slot_of(1023));
}

TEST_CASE("replica: the tail flags what is not finite", "[backend][replica]") {
  const ImageSet images = random_images(4);
  for (const SmallGraph& small : small_graphs()) {
    const Graph graph = small.build(kTestSide);
    for (const Parameter& p : graph.parameters()) {
      if (is_swallowed(graph, p)) continue;
      CAPTURE(small.name, p.name);
      std::vector<float> parameters = to_floats(some_parameters(graph));
      ReplicaBench bench(graph, images, to_doubles(parameters), {2});
      bench.step({0, 1}, 0.5F);
      CHECK(bench.replica().step_sums().nonfinite == 0.0F);
      CHECK(bench.replica().was_finite());
      parameters[p.offset + p.count - 1] = std::numeric_limits<float>::quiet_NaN();
      bench.set_parameters(parameters);
      bench.step({0, 1}, 0.5F);
      CHECK(bench.replica().step_sums().nonfinite == 1.0F);
      CHECK_FALSE(bench.replica().was_finite());
    }
  }
}

TEST_CASE("replica: running statistics move by the momentum of the origin", "[backend][replica]") {
  const auto [origin, momentum] =
      GENERATE(std::pair{Origin::pytorch, 0.9}, std::pair{Origin::keras, 0.99});
  GraphBuilder g("two_norms", {3, kTestSide, kTestSide}, origin);
  NodeId x = g.conv("conv", g.input(), {.filters = 8});
  x = g.batch_norm("first", x, {});
  x = g.batch_norm("second", x, {.running_variance = RunningVariance::biased});
  g.dense("linear", g.global_average_pool("pool", x), {.units = 10});
  const Graph graph = std::move(g).finish();
  ReplicaBench bench(graph, random_images(4), some_parameters(graph), {2});
  Replica& replica = bench.replica();

  // As if three micro-batches had summed to these: 6 samples, means 2 and -1, variances 5 and 3.
  std::vector<float> arena(GradientLayout(graph).total(), 0.0F);
  const auto fill = [&](std::size_t first, float value) {
    std::fill_n(arena.begin() + std::ptrdiff_t(graph.parameter_count() + first), 8, value);
  };
  fill(0, 12.0F);
  fill(8, 30.0F);
  fill(16, -6.0F);
  fill(24, 18.0F);
  bench.backend().upload(replica.gradients(), arena);
  replica.update_running_statistics(6.0F);
  replica.update_running_statistics(6.0F);
  const std::vector<float> running = bench.read(replica.running_statistics());
  const auto twice = [keeps = momentum](double from, double to) {
    return Approx(to + keeps * keeps * (from - to));
  };
  for (std::size_t c = 0; c < 8; ++c) {
    CHECK(running[c] == twice(0, 2));
    CHECK(running[8 + c] == twice(1, 5));
    CHECK(running[16 + c] == twice(0, -1));
    CHECK(running[24 + c] == twice(1, 3));
  }
}

TEST_CASE("replica: memory", "[backend][replica]") {
  const Graph graph = small_option_a(kTestSide);
  ReplicaBench bench(graph, random_images(2), some_parameters(graph), {2}, {4});
  const MemoryNeed need = bench.replica().memory();
  const GradientLayout layout(graph);
  CHECK(layout.total() == graph.parameter_count() + graph.statistics_count() + 7);
  CHECK(need.parameters + need.gradients + need.statistics ==
        4 * (graph.parameter_count() + layout.total() + 3 * graph.statistics_count() +
             2 * layout.lead()));
  CHECK(need.total() == need.of_model() + need.of_batch());
  CHECK(need.of_batch() == need.activations + need.workspace + need.buffers);
  ReplicaBench larger(graph, random_images(2), some_parameters(graph), {2, 4}, {4});
  CHECK(larger.replica().memory().activations > need.activations);
}

Vector initial_values(const Graph& graph, const std::string& parameter, std::uint64_t seed) {
  const auto backend = open_backend_under_test();
  Replica replica(graph, *backend, {}, {}, Recompute::none);
  replica.initialise(seed);
  const auto& all = graph.parameters();
  const auto found = std::ranges::find(all, parameter, &Parameter::name);
  REQUIRE(found != all.end());
  const auto id = static_cast<ParameterId>(found - all.begin());
  return to_doubles(read_floats(*backend, replica.parameter(id)));
}

/// 64 filters over 32 channels: fan in 288, fan out 576, 18,432 values.
Graph graph_of(Init init, bool extra_layers = false) {
  GraphBuilder g("init", {32, 4, 4});
  NodeId x = g.input();
  if (extra_layers) x = g.conv("before", x, {.filters = 32});
  x = g.conv("conv", x,
             {.filters = 64, .bias = true, .weight_init = init, .bias_init = Init::fan_in_uniform});
  x = g.batch_norm("norm", x, {});
  if (extra_layers) x = g.conv("after", x, {.filters = 8});
  g.dense("dense", g.global_average_pool("pool", x), {.units = 10});
  return std::move(g).finish();
}

struct Distribution {
  double mean = 0, variance = 0, largest = 0, beyond_two_deviations = 0;
};

Distribution measure(const Vector& values) {
  Distribution d;
  const double n = double(values.size());
  for (const double v : values) d.mean += v / n;
  for (const double v : values) d.variance += (v - d.mean) * (v - d.mean) / n;
  for (const double v : values) {
    d.largest = std::max(d.largest, std::abs(v));
    d.beyond_two_deviations += std::abs(v) > 2 * std::sqrt(d.variance) ? 1 / n : 0;
  }
  return d;
}

/// Of n draws the mean deviates by sigma / sqrt(n), the variance of a normal one by
/// sigma^2 sqrt(2/n); five times that is never seen by chance.
void check_moments(const Distribution& d, double variance, double n) {
  CHECK(std::abs(d.mean) < 5 * std::sqrt(variance / n));
  CHECK(std::abs(d.variance - variance) < 5 * variance * std::sqrt(2 / n));
}

TEST_CASE("initial values: He normal", "[backend][replica]") {
  const Distribution d = measure(initial_values(graph_of(Init::he_normal), "conv.weight", 1));
  check_moments(d, 2.0 / 288, 18432);
  // A normal variable is beyond two deviations with a probability of 0.0455; a uniform one never.
  CHECK(std::abs(d.beyond_two_deviations - 0.0455) < 5 * std::sqrt(0.0455 / 18432));
}

void check_uniform(Init init, double bound) {
  const Distribution d = measure(initial_values(graph_of(init), "conv.weight", 1));
  check_moments(d, bound * bound / 3, 18432);
  CHECK(d.largest <= bound * (1 + 1e-7));
  CHECK(d.largest > 0.999 * bound);
}

TEST_CASE("initial values: uniform by fan in, and Glorot's", "[backend][replica]") {
  check_uniform(Init::fan_in_uniform, 1 / std::sqrt(288.0));
  check_uniform(Init::glorot_uniform, std::sqrt(6.0 / (288 + 576)));
  const Vector bias = initial_values(graph_of(Init::he_normal), "conv.bias", 1);
  CHECK(measure(bias).largest <= 1 / std::sqrt(288.0));
  CHECK(measure(bias).largest > 0.8 / std::sqrt(288.0));
}

TEST_CASE("initial values: constants and running statistics", "[backend][replica]") {
  const Graph graph = graph_of(Init::he_normal);
  CHECK(initial_values(graph, "norm.weight", 1) == Vector(64, 1.0));
  CHECK(initial_values(graph, "norm.bias", 1) == Vector(64, 0.0));
  const auto backend = open_backend_under_test();
  Replica replica(graph, *backend, {}, {}, Recompute::none);
  replica.initialise(1);
  Vector expected(64, 0.0);
  expected.insert(expected.end(), 64, 1.0);
  CHECK(to_doubles(read_floats(*backend, replica.running_statistics())) == expected);
}

TEST_CASE("initial values depend on seed and name, not on the place in the arena",
          "[backend][replica]") {
  const Graph graph = graph_of(Init::he_normal);
  const Vector values = initial_values(graph, "conv.weight", 1);
  CHECK(values == initial_values(graph_of(Init::he_normal, true), "conv.weight", 1));
  CHECK(values != initial_values(graph, "conv.weight", 2));
  const Graph larger = graph_of(Init::he_normal, true);
  const Vector before = initial_values(larger, "before.weight", 1);
  CHECK_FALSE(std::equal(before.begin(), before.begin() + 100, values.begin()));
}

}  // namespace
}  // namespace rueda::test
