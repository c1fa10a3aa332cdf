#include <catch2/catch.hpp>

#include "study/figures.hpp"
#include "tests/support/made_study.hpp"

using namespace rueda;
using test::made_run;

namespace {

constexpr auto kBackward = static_cast<std::size_t>(Phase::backward);
constexpr auto kAllReduce = static_cast<std::size_t>(Phase::all_reduce);

std::array<double, kPhases> phases(double backward, double all_reduce) {
  std::array<double, kPhases> all{};
  all[kBackward] = backward;
  all[kAllReduce] = all_reduce;
  return all;
}

/// P ranks with epochs of T seconds.
std::vector<RunResult> runs_of(const std::vector<std::pair<std::size_t, double>>& times) {
  std::vector<RunResult> runs;
  for (const auto& [ranks, seconds] : times)
    runs.push_back(made_run({.ranks = ranks, .epochs = {99, seconds}}));
  return runs;
}

}  // namespace

TEST_CASE("Amdahl's fit finds the fraction that made the times", "[study]") {
  const auto time = [](double p) { return 100 * (0.08 + 0.92 / p); };
  const auto runs = runs_of({{1, time(1)}, {2, time(2)}, {4, time(4)}, {8, time(8)}});
  const auto fit = amdahl_fraction(make_series(observe_all(runs))[0]);
  REQUIRE(fit);
  CHECK(fit->value == Approx(0.08));
  CHECK(fit->low == Approx(0.08));
  CHECK(amdahl_speedup(0.08, 8) == Approx(time(1) / time(8)));
}

TEST_CASE("Amdahl's fit of two points is Karp and Flatt's fraction", "[study]") {
  const auto runs = runs_of({{1, 14}, {4, 5}});
  const auto fit = amdahl_fraction(make_series(observe_all(runs))[0]);
  REQUIRE(fit);
  // S = 2.8: (1/2.8 - 1/4) / (3/4).
  CHECK(fit->value == Approx(0.142857142857));
  CHECK(karp_flatt(2.8, 4) == Approx(0.142857142857));
}

TEST_CASE("oversubscribed points are left out of fits", "[study]") {
  auto runs = runs_of({{1, 10}, {2, 5}, {4, 9}});
  for (RankResult& rank : runs[2].ranks) rank.cores = 0.5;
  CHECK(amdahl_fraction(make_series(observe_all(runs))[0])->value == Approx(0));
  for (RankResult& rank : runs[1].ranks) rank.cores = 0.5;
  CHECK_FALSE(amdahl_fraction(make_series(observe_all(runs))[0]));
}

TEST_CASE("Gustafson's fraction of a scaled speedup", "[study]") {
  CHECK(gustafson_fraction(3.25, 4) == Approx(0.25));
  CHECK(std::isnan(gustafson_fraction(1, 1)));
  CHECK(std::isnan(karp_flatt(1, 1)));
}

TEST_CASE("communication is told in three ways", "[study]") {
  // 100 images: 10 steps on one rank, 5 on two.
  const std::vector<RunResult> runs = {
      made_run({.ranks = 1, .epochs = {9, 10.0}, .phases = phases(10, 0)}),
      made_run({.ranks = 2,
                .epochs = {9, 6.5},
                .phases = phases(5.25, 1.0),
                .wait = 0.1,
                .transfer = 0.2,
                .add = 0.1})};
  const auto series = make_series(observe_all(runs));
  const CommunicationFigures c = evaluate(series)[0].points[1].communication;
  CHECK(c.inferred == Approx(1.5));
  CHECK(c.inferred_same_batch == Approx(1.5));
  CHECK(c.measured == Approx(5 * 0.4));
  CHECK(c.exposed == Approx(1.0));
  CHECK(c.wait == Approx(0.5));
  CHECK(c.transfer == Approx(1.0));
  // 10^9 bytes, 2(P-1)/P = 1, 5 steps in 1.0 s.
  CHECK(c.link_busbw == Approx(5));
}

TEST_CASE("with a fixed global batch the small batch's cost is told apart", "[study]") {
  const std::vector<RunResult> runs = {
      made_run({.ranks = 1, .rank_batch = 20, .epochs = {9, 10.0}}),
      made_run({.ranks = 1, .rank_batch = 10, .epochs = {9, 12.0}}),
      made_run({.ranks = 2, .rank_batch = 10, .epochs = {9, 7.0}})};
  const auto series = make_series(observe_all(runs));
  const auto all = evaluate(series);
  REQUIRE(all[1].series->scaling == Scaling::strong);
  CHECK(all[1].points[1].communication.inferred == Approx(2.0));
  CHECK(all[1].points[1].communication.inferred_same_batch == Approx(1.0));
}

TEST_CASE("phases and the rest add up to the lost time", "[study]") {
  const std::vector<RunResult> runs = {
      made_run({.ranks = 1, .epochs = {9, 10.0}, .phases = phases(9.8, 0)}),
      made_run({.ranks = 2,
                .epochs = {9, 6.5},
                .phases = phases(5.25, 1.0),
                .wait = 0.3,
                .transfer = 0.1})};
  const auto series = make_series(observe_all(runs));
  const auto all = evaluate(series);
  CHECK_FALSE(losses(all[0], all[0].points[0]));
  const auto loss = losses(all[0], all[0].points[1]);
  REQUIRE(loss);
  CHECK(loss->lost == Approx(1.5));
  CHECK(loss->phases[kBackward] == Approx(0.35));
  CHECK(loss->phases[kAllReduce] == Approx(1.0));
  CHECK(loss->waiting == Approx(0.75));
  CHECK(loss->rest == Approx(0.15));
}

TEST_CASE("parts are of the repeat and epoch nearest to the median", "[study]") {
  std::vector<RunResult> runs = {made_run({.epochs = {9, 10.0}, .phases = phases(9.8, 0)})};
  for (const double seconds : {5.5, 6.0, 9.0}) {
    runs.push_back(made_run(
        {.ranks = 2, .epochs = {99, seconds, 3 * seconds}, .phases = phases(seconds - 0.2, 0.2)}));
    runs.back().epochs[2].phases[kBackward] = {77, 77, 77};
    runs.back().epochs[1].seconds = seconds;
  }
  const auto series = make_series(observe_all(runs));
  const auto all = evaluate(series);
  // Each run's median is of its two steady epochs: 11, 12, 18; nearest to 12 is the second's 6.
  CHECK(all[0].points[1].point->epoch.value == Approx(12));
  CHECK(all[0].points[1].epoch_phases[kBackward] == Approx(5.8));
}

TEST_CASE("an epoch's slow steps and its partial step", "[study]") {
  RunResult run = made_run({.rank_batch = 30, .epochs = {9, 1.0}, .step = 0.2});
  run.steady_full_step_seconds.mean = 0.25;
  const auto series = make_series({observe(run)});
  const EpochParts parts = epoch_parts(series[0].points[0]);
  CHECK(parts.partial_images == 10);  // 100 = 3 x 30 + 10
  CHECK(parts.slow_steps == Approx(3 * 0.05));
  CHECK(parts.partial == Approx(1.0 - 3 * 0.25));
  CHECK(parts.partial_by_images == Approx(0.2 / 3));
}

TEST_CASE("the slowest rank is named with its host", "[study]") {
  RunResult run = made_run({.ranks = 3});
  run.ranks[1].host = "slow";
  const std::vector<double> own = {0.2, 0.5, 0.3};
  for (std::size_t r = 0; r < 3; ++r) {
    run.epochs.back().ranks.push_back({r, 1.0, spread_of({}), spread_of(std::span(&own[r], 1))});
  }
  const auto series = make_series({observe(run)});
  const StragglerFigures s = evaluate(series)[0].points[0].stragglers;
  CHECK(s.slowest == 1);
  CHECK(s.slowest_host == "slow");
  CHECK(s.compute.min == 0.2);
  CHECK(s.compute.max == 0.5);
}

TEST_CASE("extremes of quotients", "[study]") {
  const Estimate e = Estimate{14, 13.5, 14.5} / Estimate{5, 4.5, 5.5} * 0.25;
  CHECK(e.value == Approx(0.7));
  CHECK(e.low == Approx(13.5 / 5.5 / 4));
  CHECK(e.high == Approx(14.5 / 4.5 / 4));
  CHECK(per(100, Estimate{5, 4, 10}).low == 10);
  CHECK(per(100, Estimate{5, 4, 10}).high == 25);
}
