// Sums for batch norms in the epilogues of convolutions: the stand-in has engines for them.
#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "cuda/backend/cuda_backend.hpp"
#include "tests/support/replica_bench.hpp"
#include "tests/support/small_graphs.hpp"

namespace rueda::test {
namespace {

constexpr int kSide = 9;
constexpr std::size_t kFilters = 8;

/// What each of them is for, of the plans with statistics.
std::vector<std::string> planned_with_statistics(const Backend& backend) {
  std::vector<std::string> keys;
  for (const auto& [key, engine] : cuda::plan_store(backend)->engines())
    if (key.ends_with(" + statistics")) keys.push_back(key);
  return keys;
}

std::vector<std::string> planned_with_statistics(const Variant& variant, Precision precision) {
  const auto backend = open_backend_under_test(variant, precision);
  const ReplicaPlan plan(small_preactivation(32), *backend, {4, 3}, {4}, Recompute::none);
  return planned_with_statistics(*backend);
}

TEST_CASE("a full batch of training takes batch norms' sums in epilogues", "[backend]") {
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    const auto keys = planned_with_statistics(variants().front(), precision);
    // The outputs of the first two blocks, which are alike, and that of the third.
    REQUIRE(keys.size() == 2);
    for (const std::string& key : keys) {
      CHECK_THAT(key, Catch::Contains(" 4x") && Catch::Contains(" + bias + residual + statistics"));
    }
    CHECK(planned_with_statistics(repeatable_variant(), precision).empty());
  }
}

/// A batch norm of a convolution with a bias.
Graph biased_graph() {
  GraphBuilder g("biased", {3, kSide, kSide});
  const NodeId conv = g.conv("conv", g.input(), {.filters = int(kFilters), .bias = true});
  const NodeId norm = g.batch_norm("norm", conv, {.running_variance = RunningVariance::biased});
  g.dense("dense", g.global_average_pool("pool", norm), {.units = 10});
  return std::move(g).finish();
}

class LargeMeans {
 public:
  /// As many deviations as `ratio` in each channel but the last, whose values are all 3.
  explicit LargeMeans(double ratio) : parameters_(some_parameters(graph_)) {
    std::fill_n(at("conv.bias"), kFilters, 0.0);
    const std::size_t filter = graph_.parameter(index_of("conv.weight")).count / kFilters;
    std::fill_n(at("conv.weight") + std::ptrdiff_t((kFilters - 1) * filter), filter, 0.0);
    const Vector statistics = exact();
    for (std::size_t c = 0; c < kFilters; ++c)
      at("conv.bias")[std::ptrdiff_t(c)] =
          c + 1 == kFilters ? 3.0 : ratio * std::sqrt(statistics[kFilters + c]);
  }

  Vector exact() const {
    const ReferenceBatch batch = reference_batch(images_, indices_, kSide);
    return reference_step(graph_, parameters_, batch.input, batch.labels, 1).statistics;
  }
  /// Means, then variances. The second step finds in their place what the first left there.
  Vector computed(const Variant& variant) const {
    ReplicaBench bench(graph_, images_, parameters_, {indices_.size()}, {}, variant);
    CHECK(planned_with_statistics(bench.backend()).empty() == (&variant == &repeatable_variant()));
    for (int step = 0; step < 2; ++step) bench.step(indices_, 1);
    const std::vector<float> all = bench.gradients();
    Vector statistics;
    for (std::size_t i = 0; i < 2 * kFilters; ++i)
      statistics.push_back(double(all[graph_.parameter_count() + i]) / double(indices_.size()));
    return statistics;
  }
  /// The largest error of a variance in units of that variance, without the last channel.
  double error(const Variant& variant) const {
    const Vector expected = exact();
    const Vector actual = computed(variant);
    double worst = 0;
    for (std::size_t i = kFilters; i + 1 < 2 * kFilters; ++i)
      worst = std::max(worst, std::abs(actual[i] / expected[i] - 1));
    return worst;
  }
  Vector::iterator at(const std::string& name) {
    return parameters_.begin() + std::ptrdiff_t(graph_.parameter(index_of(name)).offset);
  }

 private:
  ParameterId index_of(const std::string& name) const {
    const auto& all = graph_.parameters();
    return ParameterId(std::ranges::find(all, name, &Parameter::name) - all.begin());
  }

  Graph graph_ = biased_graph();
  ImageSet images_ = random_images(8);
  std::vector<std::uint32_t> indices_ = {1, 2, 7, 4, 0};
  Vector parameters_;
};

/// numerics.md: plain sums lose (mean / deviation)^2 roundings, sums of differences do not.
TEST_CASE("plain sums of channels with a large mean lose what is said of them", "[backend]") {
  const Variant& plain = variants().front();
  CHECK(LargeMeans(1).error(plain) < 1e-6);
  LargeMeans large(100);
  const double lost = large.error(plain);
  CHECK(lost < 100 * 100 * 0x1p-22);
  CHECK(large.error(repeatable_variant()) < lost / 10);
  // No variance is negative, and a NaN is not taken for one.
  CHECK(large.computed(plain).back() < 9 * 0x1p-22);
  CHECK(large.computed(plain).back() >= 0);
  *large.at("conv.bias") = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(large.computed(plain)[kFilters]));
}

}  // namespace
}  // namespace rueda::test
