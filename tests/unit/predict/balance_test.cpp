#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "predict/predict.hpp"
#include "tests/support/common.hpp"
#include "tests/support/made_study.hpp"

using namespace rueda;
using namespace rueda::predict;

namespace {

constexpr double kRunSteps = 10;
constexpr double kUpdateSeconds = 0.01;

/// Ranks that need so many seconds for an image, and have so many images of a step. A rank's
/// steps take from 0.9 to 1.1 of its mean.
RunResult ranks_run(const std::vector<double>& of_image, const std::vector<std::size_t>& images) {
  RunResult run = test::made_run({.ranks = of_image.size()});
  run.rank_batches = images;
  run.epochs.back().steps = std::size_t(kRunSteps);
  std::vector<std::vector<double>> steps;
  for (std::size_t rank = 0; rank < images.size(); ++rank) {
    const double step = of_image[rank] * double(images[rank]) + kUpdateSeconds;
    steps.push_back({0.9 * step, step, 1.1 * step});
  }
  test::set_compute(run, steps);
  for (std::size_t rank = 0; rank < images.size(); ++rank) {
    RankFigures& figures = run.epochs.back().of_ranks[rank];
    const double computed = kRunSteps * of_image[rank] * double(images[rank]);
    figures.samples = std::size_t(kRunSteps) * images[rank];
    figures.phases = {};
    figures.phases[std::size_t(Phase::load)] = computed / 4;
    figures.phases[std::size_t(Phase::backward)] = computed * 3 / 4;
    figures.phases[std::size_t(Phase::optimizer)] = kRunSteps * kUpdateSeconds;
    figures.phases[kAllReduce] = 99;  // waiting
  }
  return run;
}

double images_factor(const Runs& runs) { return fit_speed_shares(runs).value(); }

/// Whether the noise that is left is that which was measured.
bool is_all_left(const NoiseFit& fit) {
  bool same = true;
  for (const double u : {0.0, 0.3, 0.5, 0.9, 1.0})
    same = same && fit.by_speed.quantile(u) == Approx(fit.noise.quantile(u));
  return same;
}

/// 2 ms an image, 5 ms for the update; half of the steps of all ranks take 0.5, half 1.5 of the
/// mean. By speed: three quarters of the time, and 0.9 to 1.1.
CostModel two_speeds_model() {
  CostModel model;
  model.compute = {.per_image = 0.002, .input_per_image = 0.001, .update = 0.005};
  model.noise = Distribution::of_sample({0.5, 1.5});
  model.by_speed = SpeedShares{0.75, Distribution::of_sample({0.9, 1.1})};
  return model;
}

CostModel with_changes(CostModel model, const char* text) {
  for (const Change& change : parse_changes(text)) change.apply(model, change);
  return model;
}

}  // namespace

TEST_CASE("with parts by speed all need the ideal time", "[predict][balance]") {
  // Equal parts: the harmonic by the arithmetic mean of the times of an image.
  CHECK(images_factor({ranks_run({0.001, 0.002}, {100, 100})}) == Approx(4.0 / 3 / 1.5));
  CHECK(images_factor({ranks_run({0.001, 0.001, 0.004}, {50, 50, 50})}) == Approx(4.0 / 3 / 2));
  // Given parts that do not suit: 200 images by 1500 a second; 50 and 300 ms before.
  CHECK(images_factor({ranks_run({0.001, 0.002}, {50, 150})}) == Approx(200.0 / 1500 / 0.175));
}

TEST_CASE("ranks that --balance speed leaves as they are show no gain", "[predict][balance]") {
  RunResult by_speed = ranks_run({0.001, 0.002}, {100, 100});
  by_speed.options["balance"] = "\"speed\"";
  for (const RunResult& run :
       {ranks_run({0.001, 0.001}, {100, 100}), ranks_run({0.001, 0.00109}, {64, 64}),
        ranks_run({0.001, 0.002}, {134, 66}), by_speed}) {
    CHECK(images_factor({run}) == 1);
    CHECK(is_all_left(fit_noise({run})));
  }
  // From a gain of 5 % on.
  CHECK(images_factor({ranks_run({0.001, 0.00115}, {200, 200})}) < 0.999);
}

TEST_CASE("the gain of several runs is their mean by ranks", "[predict][balance]") {
  const RunResult uneven = ranks_run({0.001, 0.002}, {100, 100});
  const RunResult alike = ranks_run({0.001, 0.001, 0.001, 0.001}, {100, 100, 100, 100});
  const RunResult alone = ranks_run({0.001}, {100});
  CHECK(images_factor({uneven, alone, alike}) == Approx((2 * 8.0 / 9 + 4) / 6));
  CHECK_FALSE(fit_speed_shares({alone}));
  CHECK_FALSE(fit_speed_shares({}));
}

TEST_CASE("the noise that is left is that of each rank", "[predict][balance]") {
  RunResult run = ranks_run({0.001, 0.002}, {100, 100});
  const NoiseFit fit = fit_noise({run});
  CHECK(fit.noise.quantile(1) == Approx(1.1 * 0.210 / 0.160));
  CHECK(fit.by_speed.quantile(0) == Approx(0.9));
  CHECK(fit.by_speed.quantile(0.5) == Approx(1));
  CHECK(fit.by_speed.quantile(1) == Approx(1.1));
  CHECK(fit.by_speed.mean() == Approx(1));

  const test::ScratchDirectory folder;
  run.file = folder.path() / "run.json";
  folder.write("steps.csv",
               "epoch,step,rank,samples,global_samples,seconds,all_reduce\n"
               "2,1,0,10,20,1.8,0.9\n2,1,1,10,20,1.8,0\n"
               "2,2,0,10,20,2.2,1.1\n2,2,1,10,20,2.2,0\n"
               "2,2,7,10,20,99,0\n");  // of no rank
  const NoiseFit by_steps = fit_noise({run});
  REQUIRE(by_steps.from_steps);
  CHECK(by_steps.samples == 4);
  CHECK(by_steps.noise.quantile(1) == Approx(2.2 / 1.5));
  CHECK(by_steps.by_speed.quantile(0) == Approx(0.9));
  CHECK(by_steps.by_speed.quantile(1) == Approx(1.1));
}

TEST_CASE("a forecast with parts by speed", "[predict][balance]") {
  const CostModel before = two_speeds_model();
  const CostModel after = with_changes(before, "balance");
  const auto step = [](const CostModel& model, std::size_t ranks) {
    return forecast_step(model, {.ranks = ranks, .global_batch = 100 * ranks}, 100 * ranks);
  };
  CHECK(step(before, 4).compute == Approx(0.2));
  CHECK(step(after, 4).compute == Approx(0.75 * 0.2));
  CHECK(step(after, 4).rest == Approx(0.75 * 0.1 + 0.005));  // the update is not shorter
  // The largest of four drawn evenly from 0.9 to 1.1: 0.9 + 0.2 * 4 / 5.
  CHECK(step(after, 4).straggling == Approx((0.75 * 0.3 + 0.005) * 0.06));
  CHECK(step(after, 1).seconds() == step(before, 1).seconds());  // one has nothing to share
  CHECK(step(with_changes(before, "balance,noise=0x"), 4).straggling == Approx(0).margin(1e-12));
  CHECK(step(with_changes(before, "noise=0x,balance"), 4).straggling == Approx(0).margin(1e-12));
  CHECK(step(with_changes(before, "compute-time=2x,balance"), 4).compute == Approx(0.75 * 0.4));
}

TEST_CASE("balance needs to know the ranks, and has no value", "[predict][balance]") {
  CHECK_THROWS_WITH(with_changes({}, "balance"),
                    Catch::Contains("no run shows how fast each rank is"));
  CHECK_THROWS_WITH(parse_changes("balance=2x"),
                    Catch::Contains("--what-if balance '2x': it has no value"));
}
