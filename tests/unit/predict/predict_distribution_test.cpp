#include <catch2/catch.hpp>

#include "predict/distribution.hpp"
#include "rueda/core/random.hpp"

using namespace rueda;
using Catch::Detail::Approx;
using rueda::predict::Distribution;

namespace {

/// The mean of the largest of `count` draws, by drawing.
double drawn_max(const Distribution& distribution, int count) {
  constexpr int kTimes = 40'000;
  double sum = 0;
  for (int i = 0; i < kTimes; ++i) {
    double most = -1e300;
    for (int j = 0; j < count; ++j) {
      most = std::max(most, distribution.quantile(to_unit(random_bits(1, i, j))));
    }
    sum += most;
  }
  return sum / kTimes;
}

}  // namespace

TEST_CASE("the largest of several even draws", "[predict]") {
  // Of `count` values drawn evenly from 0 to 1 the largest is count / (count + 1) in the mean.
  const auto even = Distribution::of_sample({0, 1});
  for (const int count : {1, 2, 3, 10, 1000, 16'384}) {
    CHECK(even.expected_max(count) == Approx(count / (count + 1.0)));
  }
  CHECK(Distribution::of_sample({3, 5, 4}).expected_max(3) == Approx(3 + 2 * 0.75));
}

TEST_CASE("the largest of several draws from any distribution", "[predict]") {
  const auto skewed = Distribution::of_sample({1, 1.1, 1.2, 1.3, 5});
  const auto spread =
      Distribution::of_spread({.count = 9, .min = 1, .median = 2, .p90 = 3, .max = 10});
  for (const int count : {1, 2, 5, 30}) {
    CHECK(skewed.expected_max(count) == Approx(drawn_max(skewed, count)).epsilon(0.02));
    CHECK(spread.expected_max(count) == Approx(drawn_max(spread, count)).epsilon(0.02));
  }
}

TEST_CASE("quantiles pass through what was measured", "[predict]") {
  const auto sample = Distribution::of_sample({4, 1, 2});
  CHECK(sample.quantile(0) == 1);
  CHECK(sample.quantile(0.5) == 2);
  CHECK(sample.quantile(0.75) == Approx(3));
  CHECK(sample.quantile(1) == 4);
  CHECK(sample.mean() == Approx((1.5 + 3) / 2));
  const auto spread =
      Distribution::of_spread({.count = 9, .min = 1, .median = 2, .p90 = 3, .max = 10});
  CHECK(spread.quantile(0.5) == Approx(2));
  CHECK(spread.quantile(0.9) == Approx(3));
  CHECK(spread.quantile(0.95) == Approx(6.5));
}

TEST_CASE("nothing beyond the sample is foreseen", "[predict]") {
  const auto sample = Distribution::of_sample({1, 2, 3});
  CHECK(sample.expected_max(1e6) == Approx(3).epsilon(1e-5));
  CHECK(sample.expected_max(1e6) <= 3);
  CHECK(Distribution(7).expected_max(1000) == Approx(7));
  CHECK(Distribution::of_sample({7}).expected_max(1000) == Approx(7));
  CHECK_THROWS_AS(Distribution::of_sample({}), std::invalid_argument);
  CHECK_THROWS_AS(Distribution::of_spread({}), std::invalid_argument);
}
