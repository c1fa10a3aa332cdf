#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "rueda/backend/replica.hpp"
#include "tests/support/backend_under_test.hpp"
#include "tests/support/device_values.hpp"
#include "tests/support/random_tensor.hpp"

namespace rueda::test {
namespace {

Vector initial_values(const Graph& graph, const std::string& parameter, std::uint64_t seed) {
  const auto backend = open_backend_under_test();
  Replica replica(graph, *backend, {}, {});
  replica.initialise(seed);
  const auto& all = graph.parameters();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Parameter& p) { return p.name == parameter; });
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
  const double n = static_cast<double>(values.size());
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
  Replica replica(graph, *backend, {}, {});
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
