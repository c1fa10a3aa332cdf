#include "train/forecast/forecast.hpp"

#include <catch2/catch.hpp>

#include "base/random.hpp"

using namespace rueda;
using namespace rueda::cost;

namespace {

/// 10 ms and 2 ms an image, half of it backward; 1 ms an image for input, 5 ms for the update; two
/// buckets over links of 1 ms and 1 GB/s.
CostModel simple_model() {
  CostModel model;
  model.compute = {.fixed = 0.010,
                   .per_image = 0.002,
                   .backward_share = 0.5,
                   .input_per_image = 0.001,
                   .update = 0.005};
  model.machine.between = {1e-3, 1e-9};
  model.buckets = {{40e6, 0.25}, {20e6, 1}};
  return model;
}

Scenario four_ranks(bool overlap) {
  return {.ranks = 4, .global_batch = 80, .images = 200, .overlap = overlap};
}

constexpr Spread kSpread{.count = 9, .min = 1, .median = 2, .p90 = 3, .max = 10};

/// The mean of the largest of `count` draws, by drawing.
double drawn_max(const Distribution& distribution, int count) {
  constexpr int kTimes = 10'000;
  double sum = 0;
  for (int i = 0; i < kTimes; ++i) {
    double most = -1e300;
    for (int j = 0; j < count; ++j)
      most = std::max(most, distribution.quantile(to_unit(random_bits(1, i, j))));
    sum += most;
  }
  return sum / kTimes;
}

}  // namespace

TEST_CASE("a step by hand", "[cost]") {
  // 20 images a rank: compute 50 ms, rest 25 ms. Rings of 4: 6 (1 ms + 10 ms) and 6 (1 ms + 5 ms).
  const StepForecast plain = forecast_step(simple_model(), four_ranks(false), 80);
  CHECK(plain.compute == Approx(0.050));
  CHECK(plain.rest == Approx(0.025));
  CHECK(plain.straggling == Approx(0).margin(1e-12));
  CHECK(plain.all_reduce == Approx(0.066 + 0.036));
  CHECK(plain.exposed == Approx(plain.all_reduce));
  CHECK(plain.seconds() == Approx(0.177));
  // Backward of 25 ms: the first ring begins after 6.25 ms, the second after it.
  const StepForecast hidden = forecast_step(simple_model(), four_ranks(true), 80);
  CHECK(hidden.exposed == Approx(0.00625 + 0.102 - 0.025));
}

TEST_CASE("an epoch by hand", "[cost]") {
  // 200 images: two full steps of 177 ms, one of 40, ten a rank: 30 + 15 + 102 ms.
  const EpochForecast epoch = forecast_epoch(simple_model(), four_ranks(false));
  CHECK(epoch.full_steps == 2);
  CHECK(epoch.partial_images == 40);
  CHECK(epoch.steps() == 3);
  CHECK(epoch.seconds == Approx(2 * 0.177 + 0.147));
  CHECK(epoch.images_per_second() == Approx(200 / 0.501));
  // Shorter than a batch.
  const EpochForecast one = forecast_epoch(
      simple_model(), {.ranks = 4, .global_batch = 1000, .images = 41, .overlap = false});
  CHECK(one.steps() == 1);
  CHECK(one.full.compute == Approx(0.010 + 11 * 0.002));  // the rank that has most
  CHECK(one.seconds == Approx(one.full.seconds()));
}

TEST_CASE("one rank neither communicates nor waits", "[cost]") {
  CostModel model = simple_model();
  model.noise = Distribution::of_sample({0.5, 1, 2});
  const StepForecast step =
      forecast_step(model, {.ranks = 1, .global_batch = 20, .images = 20}, 20);
  CHECK(step.all_reduce == 0);
  CHECK(step.straggling == Approx(0).margin(1e-12));
  CHECK(step.seconds() == Approx(0.075));
  // Stragglers, evenly from 0.9 to 1.1: the largest of four is 0.9 + 0.2 4/5 in the mean.
  model.noise = Distribution::of_sample({0.9, 1.1});
  CHECK(forecast_step(model, four_ranks(false), 80).straggling == Approx(0.075 * 0.06));
}

TEST_CASE("micro-batches compute one after the other and communicate once", "[cost]") {
  Scenario scenario = four_ranks(true);
  scenario.micro_batches = 2;
  const StepForecast step = forecast_step(simple_model(), scenario, 80);
  CHECK(step.compute == Approx(2 * 0.030));
  CHECK(step.all_reduce == Approx(0.102));
  CHECK(step.exposed == Approx(0.25 * 0.015 + 0.102 - 0.015));
}

TEST_CASE("noise prolongs messages alone, in a simulated sum as in the closed form", "[cost]") {
  CostModel model = simple_model();
  model.machine.gamma = 1e-9;
  Scenario scenario = four_ranks(false);
  scenario.message_delay = 0.5;
  // Adding three quarters of 60 MB takes 45 ms more.
  CHECK(forecast_step(model, scenario, 80).all_reduce == Approx(0.102 * 1.5 + 0.045));
  model.message_noise = 1;
  const SimulatedSum sum = simulate_sum(model, 16, 1);
  CHECK(sum.bytes == 40e6);
  CHECK(sum.closed == Approx(30 * (1e-3 + 2.5e-3) + 15 * 2.5e-3));
  CHECK(sum.quiet == Approx(sum.closed));
  // 2.006 times the messages, see sums_test.cpp.
  CHECK(sum.noisy == Approx(2.006 * 30 * 3.5e-3 + 15 * 2.5e-3).epsilon(0.02));
  CHECK(sum.delay(model.machine.gamma) == Approx(1.006).epsilon(0.02));
  CHECK(simulate_sum(model, 1, 1).delay(0) == 0);
}

TEST_CASE("more ranks, faster links and quicker devices help as they should", "[cost]") {
  const CostModel model = simple_model();
  const auto seconds = [](const CostModel& m, std::size_t ranks, bool overlap = false) {
    return forecast_epoch(
               m,
               {.ranks = ranks, .global_batch = 20 * ranks, .images = 100'000, .overlap = overlap})
        .seconds;
  };
  CostModel fast = model;
  fast.machine.between.beta /= 2;
  CostModel late = model;
  late.machine.between.alpha *= 2;
  for (const std::size_t ranks : {2, 8, 64}) {
    CHECK(seconds(fast, ranks) < seconds(model, ranks));
    CHECK(seconds(late, ranks) > seconds(model, ranks));
    CHECK(seconds(model, ranks, true) < seconds(model, ranks, false));
    CHECK(seconds(model, 2 * ranks) < seconds(model, ranks));
    CHECK(seconds(model, ranks) > seconds(model, 1) / double(ranks));
  }
}

TEST_CASE("the largest of several draws", "[cost]") {
  // Of `count` values drawn evenly from 0 to 1 the largest is count / (count + 1) in the mean.
  const auto even = Distribution::of_sample({0, 1});
  for (const int count : {1, 2, 3, 10, 1000, 16'384})
    CHECK(even.expected_max(count) == Approx(count / (count + 1.0)));
  CHECK(Distribution::of_sample({3, 5, 4}).expected_max(3) == Approx(3 + 2 * 0.75));

  const auto skewed = Distribution::of_sample({1, 1.1, 1.2, 1.3, 5});
  const auto spread = Distribution::of_spread(kSpread);
  for (const int count : {1, 2, 5, 30}) {
    CHECK(skewed.expected_max(count) == Approx(drawn_max(skewed, count)).epsilon(0.03));
    CHECK(spread.expected_max(count) == Approx(drawn_max(spread, count)).epsilon(0.03));
  }
}

TEST_CASE("quantiles pass through what was measured", "[cost]") {
  const auto sample = Distribution::of_sample({4, 1, 2});
  CHECK(sample.quantile(0) == 1);
  CHECK(sample.quantile(0.5) == 2);
  CHECK(sample.quantile(0.75) == Approx(3));
  CHECK(sample.quantile(1) == 4);
  CHECK(sample.mean() == Approx((1.5 + 3) / 2));
  const auto spread = Distribution::of_spread(kSpread);
  CHECK(spread.quantile(0.5) == Approx(2));
  CHECK(spread.quantile(0.9) == Approx(3));
  CHECK(spread.quantile(0.95) == Approx(6.5));

  // Nothing beyond the sample is foreseen.
  CHECK(sample.expected_max(1e6) == Approx(4).epsilon(1e-5));
  CHECK(sample.expected_max(1e6) <= 4);
  CHECK(Distribution(7).expected_max(1000) == Approx(7));
  CHECK(Distribution::of_sample({7}).expected_max(1000) == Approx(7));
  CHECK_THROWS_AS(Distribution::of_sample({}), std::invalid_argument);
  CHECK_THROWS_AS(Distribution::of_spread({}), std::invalid_argument);
}
