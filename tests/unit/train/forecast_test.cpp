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

namespace {

/// The mean of the slowest of ranks with these times, by drawing.
double drawn_slowest(const Distribution& noise, const std::vector<double>& seconds) {
  constexpr int kTimes = 20'000;
  double sum = 0;
  for (int i = 0; i < kTimes; ++i) {
    double most = 0;
    for (std::size_t rank = 0; rank < seconds.size(); ++rank) {
      const double drawn = noise.quantile(to_unit(random_bits(1, std::uint64_t(i), rank)));
      most = std::max(most, seconds[rank] * drawn / noise.mean());
    }
    sum += most;
  }
  return sum / kTimes;
}

/// Ranks that need 4/3 and 8/3 ms an image and nothing else, over links that cost nothing.
CostModel unequal_model() {
  CostModel model;
  model.compute = {.per_image = 0.002, .backward_share = 0.5};
  model.buckets = {{4, 1}};
  model.rank_factors = {2.0 / 3, 4.0 / 3};
  return model;
}

StepForecast step_of(const CostModel& model, std::size_t ranks, std::size_t batch) {
  return forecast_step(model, {.ranks = ranks, .global_batch = batch, .images = batch}, batch);
}

}  // namespace

TEST_CASE("ranks that are always slow are late in every step", "[cost]") {
  // 12 images each: a mean rank takes 24 ms, the two kinds 16 and 32.
  for (const std::size_t ranks : {2, 4, 64}) {
    const StepForecast step = step_of(unequal_model(), ranks, 12 * ranks);
    CHECK(step.compute == Approx(0.024));
    CHECK(step.straggling == Approx(0.008));
    CHECK(step.seconds() == Approx(0.032));
  }
  CHECK(step_of(unequal_model(), 1, 12).seconds() == Approx(0.016));
  CHECK(step_of(unequal_model(), 3, 36).compute == Approx((2 * 0.016 + 0.032) / 3));  // a slow one
  CHECK(step_of(unequal_model(), 3, 36).seconds() == Approx(0.032));
  // Backward of the slowest rank hides the sum of the first bucket.
  CostModel model = unequal_model();
  model.machine.between.alpha = 0.001;
  model.buckets = {{4, 0.5}, {4, 1}};
  const StepForecast hidden =
      forecast_step(model, {.ranks = 2, .global_batch = 24, .images = 24, .overlap = true}, 24);
  CHECK(hidden.exposed == Approx(0.002));
}

TEST_CASE("parts by speed are those of training, in whole images", "[cost]") {
  CostModel model = unequal_model();
  model.shares_by_speed = true;
  // 16 and 8 of 24 images: both ranks need 8/6 of 16 ms.
  CHECK(step_of(model, 2, 24).seconds() == Approx(16 * 0.002 / 1.5));
  // 4 images are 3 and 1 or 2 and 2: the third of the fast rank takes 4 ms, the second of the slow
  // one 5.3 ms.
  CHECK(step_of(model, 2, 4).seconds() == Approx(3 * 0.002 / 1.5));
  // A partial step of 12 has the same shares: 8 and 4.
  const Scenario scenario{.ranks = 2, .global_batch = 24, .images = 36};
  CHECK(forecast_step(model, scenario, 12).seconds() == Approx(8 * 0.002 / 1.5));
  // No efficiency is above 1: one rank has the mean speed.
  for (const std::size_t ranks : {2, 4, 8, 64})
    for (const std::size_t each : {1, 3, 12, 120}) {
      const double speedup = double(ranks) * step_of(model, 1, each).seconds();
      CHECK(speedup <= double(ranks) * step_of(model, ranks, ranks * each).seconds() * (1 + 1e-12));
    }
  CHECK(step_of(model, 1, 12).seconds() == Approx(12 * 0.002 * (4.0 / 3) / 1.5));
}

TEST_CASE("parts that were given are not equal", "[cost]") {
  CostModel model = simple_model();
  const auto with_parts = [&](std::vector<std::size_t> parts) {
    return forecast_step(
        model, {.ranks = 2, .global_batch = 24, .images = 60, .parts = std::move(parts)}, 24);
  };
  const StepForecast equal = with_parts({12, 12});
  const StepForecast three_to_one = with_parts({18, 6});
  CHECK(three_to_one.compute == Approx(equal.compute));
  CHECK(three_to_one.rest == Approx(equal.rest));
  CHECK(equal.straggling == Approx(0).margin(1e-12));
  CHECK(three_to_one.straggling == Approx(6 * 0.003));  // images of 3 ms with their input
  CHECK(with_parts({6, 18}).seconds() == Approx(three_to_one.seconds()));
}

TEST_CASE("the slowest of unequal ranks varies, too", "[cost]") {
  const auto noise = Distribution::of_sample({0.8, 0.9, 1, 1, 1.1, 1.2, 1.6});
  for (const std::vector<double>& factors :
       {std::vector<double>{1, 1.05}, {1, 1.3, 1.3, 1.35}, {1, 3}}) {
    CostModel model = unequal_model();
    model.noise = noise;
    model.rank_factors = factors;
    std::vector<double> seconds;
    for (const double factor : factors) seconds.push_back(0.020 * factor);
    const StepForecast step = step_of(model, factors.size(), 10 * factors.size());
    CHECK(step.seconds() == Approx(drawn_slowest(noise, seconds)).epsilon(0.005));
  }
  CHECK(noise.share_below(0.7) == 0);
  CHECK(noise.share_below(0.85) == Approx(0.5 / 6));
  CHECK(noise.share_below(1) == Approx(3.0 / 6));
  CHECK(noise.share_below(9) == 1);
}
