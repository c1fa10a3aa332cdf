// Sums for batch norms in the epilogues of convolutions. Linked with the backend's tests.
#include <cmath>

#include <catch2/catch.hpp>

#include "cuda/backend/cuda_backend.hpp"
#include "tests/support/replica_bench.hpp"
#include "tests/support/small_graphs.hpp"

namespace rueda::test {
namespace {

/// Its engines may take the sums; those of `repeatable_variant` may not.
const Variant& summing_variant() { return variants().front(); }

/// The work of all plans with statistics.
std::vector<std::string> plans_with_sums(const Variant& variant, Precision precision) {
  const auto backend = open_backend_under_test(variant, precision);
  const ReplicaPlan plan(small_preactivation(32), *backend, {4, 3}, {4}, Recompute::none);
  std::vector<std::string> keys;
  for (const auto& [key, engine] : cuda::plan_store(*backend)->engines())
    if (key.ends_with(" + statistics")) keys.push_back(key);
  return keys;
}

TEST_CASE("sums in the epilogue: in full batches of training, where bits may vary", "[backend]") {
  const auto keys = plans_with_sums(summing_variant(), Precision::bf16);
  REQUIRE(keys.size() == 2);  // the first two blocks end alike
  for (const std::string& key : keys)
    CHECK_THAT(key, Catch::Contains("forward bf16 4x") && Catch::Contains(" + bias + residual + "));
  CHECK(plans_with_sums(repeatable_variant(), Precision::bf16).empty());
}

/// Batch statistics of a second step, which finds in their place what the first left there.
Vector statistics_of(const Graph& graph, const Vector& parameters, const Variant& variant,
                     Precision precision) {
  ReplicaBench bench(graph, random_images(8), parameters, {5}, {}, variant, precision);
  for (int step = 0; step < 2; ++step) bench.step({1, 2, 7, 4, 0}, 1);
  Vector all = to_doubles(bench.gradients());
  Vector statistics;
  for (std::size_t i = 0; i < graph.statistics_count(); ++i)
    statistics.push_back(all[graph.parameter_count() + i] / 5);
  return statistics;
}

TEST_CASE("sums in the epilogue: the statistics of a pass over the output", "[backend]") {
  const Graph graph = small_preactivation(9);  // few rows: a sum that is not begun anew is seen
  const Vector parameters = some_parameters(graph);
  const Vector summed = statistics_of(graph, parameters, summing_variant(), Precision::bf16);
  const Vector passed = statistics_of(graph, parameters, repeatable_variant(), Precision::bf16);
  double distance = 0, size = 0;
  for (std::size_t i = 0; i < passed.size(); ++i) {
    distance = std::hypot(distance, summed[i] - passed[i]);
    size = std::hypot(size, passed[i]);
  }
  CHECK(distance < 0.005 * size);  // two engines may round some outputs to other bf16 numbers
}

/// The largest relative error of a variance, of 405 values, where means are `ratio` deviations.
double variance_error(double ratio, const Variant& variant) {
  const Graph graph = small_three_readers(9);
  const std::size_t bias = graph.parameter(std::get<ConvNode>(graph.node(1).kind).bias).offset;
  const ReferenceBatch batch = reference_batch(random_images(8), {1, 2, 7, 4, 0}, 9);
  Vector parameters = some_parameters(graph);
  const Vector exact = reference_step(graph, parameters, batch.input, batch.labels, 1).statistics;
  for (std::size_t c = 0; c < 8; ++c)
    parameters[bias + c] += ratio * std::sqrt(exact[8 + c]) - exact[c];
  const Vector actual = statistics_of(graph, parameters, variant, Precision::fp32);
  double worst = 0;
  for (std::size_t i = 8; i < 16; ++i)
    worst = std::max(worst, std::abs(actual[i] / exact[i] * 404 / 405 - 1));
  return worst;
}

/// docs/numerics.md says what they lose. Against the exact result, hence in fp32, in which cuDNN
/// has no such engines: on the stand-in only.
TEST_CASE("sums in the epilogue: lost digits where a mean is large", "[backend]") {
  if (plans_with_sums(summing_variant(), Precision::fp32).empty()) return;
  CHECK(variance_error(1, summing_variant()) < 1e-6);
  const double lost = variance_error(100, summing_variant());
  CHECK(lost < 100 * 100 * 0x1p-22);
  // y itself is rounded in fp32, by 100 times 2^-24 of its deviation.
  CHECK(variance_error(100, repeatable_variant()) < lost / 10);
}

}  // namespace
}  // namespace rueda::test
