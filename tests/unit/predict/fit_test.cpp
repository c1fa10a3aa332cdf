#include <cmath>
#include <random>

#include <catch2/catch.hpp>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "predict/predict.hpp"
#include "tests/support/common.hpp"
#include "tests/support/made_study.hpp"

using namespace rueda;
using namespace rueda::predict;
using test::made_run;

namespace {

/// A link, and how fast ranks add, in seconds; what a ring of bytes takes on it: 2(P-1) messages of
/// 1/P, of which P-1 are added.
struct MadeLink {
  double alpha = 0, beta = 0, gamma = 0;
  double transfer(double ranks, double bytes) const {
    return 2 * (ranks - 1) * (alpha + bytes / ranks * beta);
  }
  double add(double ranks, double bytes) const { return (ranks - 1) * bytes / ranks * gamma; }
};

const MadeLink kLink{50e-6, 8e-9, 1e-10};
constexpr double kGradients = 1e6;  // bytes

/// A run whose every bucket took what a ring takes.
RunResult ring_run(std::size_t ranks, std::size_t hosts, const MadeLink& link,
                   const std::vector<double>& buckets) {
  RunResult run;
  run.all_reduce = "ring";
  run.ranks.resize(ranks);
  for (std::size_t r = 0; r < ranks; ++r)
    run.ranks[r].host = "h" + std::to_string(r * hosts / ranks);
  for (const double bytes : buckets) {
    BucketFigures& bucket = run.summary.all_steps.buckets.emplace_back();
    bucket.bytes = bytes;
    bucket.busy.count = 10;
    bucket.transfer.mean = link.transfer(double(ranks), bytes);
    bucket.add.mean = link.add(double(ranks), bytes);
  }
  return run;
}

/// An epoch of ten steps on a machine on which a step of one rank takes 1 s and its sum 0.4 s on
/// two; the compute of each run is off by 1 %, its link by 4 % (standard deviations).
RunResult drawn_run(std::size_t ranks, std::mt19937& random) {
  std::normal_distribution<double> normal;
  const double compute = 1 + 0.01 * normal(random);
  const double slower = 1 + 0.04 * normal(random);
  const MadeLink link{1e-3 * slower, 0.4 / kGradients * slower, 0};
  PhaseSeconds phases{};
  phases[std::size_t(Phase::backward)] = 10 * compute;
  const std::vector<double> buckets = {0.8 * kGradients, 0.2 * kGradients};
  double sum = 0;
  for (const double bytes : buckets) sum += link.transfer(double(ranks), bytes);
  RunResult run = made_run({.model = "resnet20",
                            .ranks = ranks,
                            .images = 100 * ranks,
                            .epochs = {99, 10 * (compute + sum)},
                            .step = compute,
                            .phases = phases,
                            .transfer = sum});
  const RunResult ring = ring_run(ranks, ranks, link, buckets);
  run.summary.all_steps.buckets = ring.summary.all_steps.buckets;
  run.bucket_bytes.assign(buckets.begin(), buckets.end());
  run.all_reduce = ring.all_reduce;
  for (std::size_t r = 0; r < ranks; ++r) run.ranks[r].host = ring.ranks[r].host;
  return run;
}

BenchResult bench_of(std::size_t ranks, std::size_t hosts, const MadeLink& link) {
  BenchResult bench{.file = "ring.json", .ranks = ranks, .hosts = hosts, .rows = {}};
  for (const double bytes : {4e3, 1e6, 1e8}) {
    const double seconds = link.transfer(double(ranks), bytes) + link.add(double(ranks), bytes);
    bench.rows.push_back({"ring", bytes, seconds, {}});
    bench.rows.push_back({"mpi", bytes, 7 * seconds, {}});
  }
  return bench;
}

void check_link(const std::optional<LinkFit>& fit, double alpha, double beta) {
  REQUIRE(fit);
  CHECK(fit->link.alpha == Approx(alpha));
  CHECK(fit->link.beta == Approx(beta));
  CHECK(fit->fit.typical_error == Approx(0).margin(1e-9));
}

/// A run whose full step took t0 + t1 b for each of its micro-batches, and so much besides.
RunResult computing_run(std::size_t ranks, std::size_t batch, std::size_t micro_batches) {
  const auto b = double(batch * micro_batches);
  const double compute = double(micro_batches) * 0.010 + b * 0.002;
  // load, copy, forward, loss, backward, all_reduce, optimizer, other
  const std::array<double, kPhases> phases = {
      0.001 * b, 0.0005 * b, 0.3 * compute, 0.1 * compute, 0.6 * compute, 99, 0.004, 0.003};
  RunResult run = made_run({.ranks = ranks,
                            .rank_batch = batch * micro_batches,
                            .images = ranks * batch * micro_batches,
                            .phases = phases});
  run.config.batch.accumulate = micro_batches;
  return run;
}

}  // namespace

TEST_CASE("two costs are found again", "[predict]") {
  const auto fit = fit_pair({{1, 2, 4}, {2, 100, 56}, {5, 1, 15.5}});
  CHECK(fit.separable);
  CHECK(fit.first == Approx(3));
  CHECK(fit.second == Approx(0.5));
  CHECK(fit.typical_error == Approx(0).margin(1e-12));
}

TEST_CASE("errors count as well as what was measured", "[predict]") {
  // x in x = 1 and x = 3: least squares of (x-1)/1 and (x-3)/3 is (1 + 1/3) / (1 + 1/9) = 1.2.
  const auto fit = fit_pair({{0, 1, 1}, {0, 1, 3}});
  CHECK_FALSE(fit.separable);
  CHECK(fit.first == 0);
  CHECK(fit.second == Approx(1.2));
  CHECK(fit.typical_error == Approx(std::sqrt((0.2 * 0.2 + 0.6 * 0.6) / 2)));
}

TEST_CASE("no cost is negative", "[predict]") {
  // Through (1, 1) and (2, 3) goes -1 + 2 b; without the first: x with x/1 - 1 and 2x/3 - 1.
  const double only = (1 + 2.0 / 3) / (1 + 4.0 / 9);
  const auto fit = fit_pair({{1, 1, 1}, {1, 2, 3}});
  CHECK(fit.first == 0);
  CHECK(fit.second == Approx(only));
  const auto other = fit_pair({{1, 1, 1}, {2, 1, 3}});
  CHECK(other.second == 0);
  CHECK(other.first == Approx(only));
  // Rows without a time do not count.
  CHECK(fit_pair({}).second == 0);
  CHECK(fit_pair({{1, 1, 0}, {1, 1, -1}, {1, 1, NAN}}).second == 0);
}

TEST_CASE("links are fitted to the buckets of runs", "[predict]") {
  const auto several = fit_machine(
      {ring_run(2, 2, kLink, {1e6, 25e6}), ring_run(4, 4, kLink, {1e6, 25e6, 6e6})}, {});
  check_link(several.between, kLink.alpha, kLink.beta);
  CHECK(several.gamma == Approx(kLink.gamma));
  CHECK(several.gamma_rows == 5);
  CHECK_FALSE(several.inside);

  const auto one = fit_machine({ring_run(3, 1, kLink, {1e6, 25e6})}, {});
  check_link(one.inside, kLink.alpha, kLink.beta);
  CHECK_FALSE(one.between);
}

TEST_CASE("nine of ten single runs lie in their interval", "[predict]") {
  std::mt19937 random(1);
  for (const std::size_t repeats : {2, 4, 8}) {
    CAPTURE(repeats);
    constexpr int kTrials = 300;
    int epochs = 0, sums = 0;
    double widest = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      Runs runs;
      for (std::size_t i = 0; i < 2 * repeats; ++i)
        runs.push_back(drawn_run(i < repeats ? 1 : 2, random));
      runs.push_back(drawn_run(3, random));
      const CostFit fit = fit_cost(runs, {}, {}, {});
      const Certainty certainty = certainty_of(runs, fit, {}, {}, {});
      const Scenario six{.ranks = 6, .global_batch = 60, .images = 600};
      const Scenario one{.global_batch = 10, .images = 100};
      const EpochForecast forecast = forecast_epoch(fit.model, six);
      const PlusMinus half = certainty.of(fit.model, six, one);
      const RunResult run = drawn_run(6, random);
      epochs += std::abs(run.epochs[1].seconds / forecast.seconds - 1) <= half.epoch;
      sums += std::abs(run.summary.all_steps.mean.transfer.mean / forecast.full.all_reduce - 1) <=
              half.all_reduce;
      widest = std::max(widest, half.epoch);
    }
    CHECK(epochs >= 0.84 * kTrials);
    CHECK(epochs <= 0.97 * kTrials);
    CHECK(sums >= 0.84 * kTrials);
    CHECK(sums <= 0.97 * kTrials);
    CAPTURE(epochs, sums, widest);
    CHECK(widest < (repeats == 2 ? 0.2 : 0.1));
  }
  // Two fits, each 1 % from the model, and four degrees of freedom: Student's t is 2.132.
  const CostModel model = fit_cost({drawn_run(2, random)}, {}, {}, {}).model;
  Certainty certainty{{model, model}, 0, 0, 4};
  certainty.without_one[0].compute.slow_down(1.01);
  certainty.without_one[1].compute.slow_down(0.99);
  const PlusMinus half = certainty.of(model, {.images = 10}, {.images = 10});
  CHECK(half.epoch == Approx(2.132 * 0.01).epsilon(0.002));
  CHECK(half.speedup == Approx(0).margin(1e-9));
  // One run of each P tells nothing about single runs.
  const Runs few = {drawn_run(1, random), drawn_run(2, random)};
  const CostFit fit = fit_cost(few, {}, {}, {});
  CHECK(std::isnan(certainty_of(few, fit, {}, {}, {}).of(fit.model, {}, {}).epoch));
}

TEST_CASE("an interval knows that only one P above 1 was measured", "[predict]") {
  std::mt19937 random(1);
  Runs runs;
  for (const std::size_t ranks : {1, 1, 1, 2, 2, 2}) runs.push_back(drawn_run(ranks, random));
  const CostFit fit = fit_cost(runs, {}, {}, {});
  const Certainty certainty = certainty_of(runs, fit, {}, {}, {});
  CHECK(certainty.only_ranks == 2);
  CHECK_THAT(certainty.note(), Catch::StartsWith("P = 2 is the only number of ranks above 1"));
  Certainty several = certainty;
  several.only_ranks = 0;
  const Scenario one{.global_batch = 10, .images = 100};
  const auto on = [](std::size_t p) {
    return Scenario{.ranks = p, .global_batch = 10 * p, .images = 100 * p};
  };
  // What was measured is as sure as with several P.
  for (const std::size_t p : {1, 2}) {
    CHECK_FALSE(certainty.is_widened(on(p)));
    CHECK(certainty.of(fit.model, on(p), one).epoch == several.of(fit.model, on(p), one).epoch);
  }
  // Elsewhere a step may also take as long as on two ranks: 1 s, and the sum of two.
  const auto step = [&](std::size_t p) { return forecast_epoch(fit.model, on(p)).full; };
  const PlusMinus wide = certainty.of(fit.model, on(6), one);
  const PlusMinus narrow = several.of(fit.model, on(6), one);
  CHECK(certainty.is_widened(on(6)));
  const double change = step(2).seconds() / step(6).seconds() - 1;
  CHECK(wide.epoch == Approx(std::hypot(narrow.epoch, change)));
  CHECK(wide.speedup == Approx(std::hypot(narrow.speedup, change)));
  CHECK(wide.all_reduce ==
        Approx(std::hypot(narrow.all_reduce, step(2).all_reduce / step(6).all_reduce - 1)));
  // A machine on which sums do not grow with P, as the model says they do: it is in the interval.
  const double flat = 10 * step(2).seconds();
  const double error = std::abs(flat / forecast_epoch(fit.model, on(6)).seconds - 1);
  CHECK(error > narrow.epoch);
  CHECK(error <= wide.epoch);
  // A second P, of a run or of a record of sums: as before.
  runs.push_back(drawn_run(3, random));
  const CostFit both = fit_cost(runs, {}, {}, {});
  CHECK(certainty_of(runs, both, {}, {}, {}).only_ranks == 0);
  runs.pop_back();
  const Benches record = {bench_of(4, 4, kLink)};
  CHECK(certainty_of(runs, fit_cost(runs, record, {}, {}), record, {}, {}).only_ranks == 0);
  // The table of runs has the interval and its reason where there is such a run.
  const auto note_of = [&](const Runs& shown) {
    std::string text;
    for (const std::string& note : comparison_table(shown, fit, certainty, {1, 2}).notes)
      text += note;
    return text;
  };
  CHECK_THAT(note_of(runs), !Catch::Contains("is the only number of ranks"));
  runs.push_back(drawn_run(6, random));
  CHECK_THAT(note_of(runs), Catch::Contains("is the only number of ranks"));
}

TEST_CASE("the jackknife of a mean is its standard error", "[predict]") {
  const std::vector<double> values = {8, 9, 10, 11, 12};
  std::mt19937 random(1);
  const CostModel model = fit_cost({drawn_run(2, random)}, {}, {}, {}).model;
  Certainty certainty{{}, 0, 0, values.size() - 1};
  for (const double value : values) {
    CostModel without = model;
    without.compute.per_image = (50 - value) / 4;  // the mean of the others
    certainty.without_one.push_back(without);
  }
  CostModel mean = model;
  mean.compute.per_image = 10;
  const double half =
      certainty.half_interval(mean, [](const CostModel& one) { return one.compute.per_image; });
  // s / sqrt(n) = sqrt(2.5 / 5), Student's t of four degrees of freedom is 2.132.
  CHECK(half == Approx(2.132 * std::sqrt(0.5) / 10).epsilon(0.002));
}

TEST_CASE("runs on different machines are not fitted together", "[predict]") {
  std::mt19937 random(1);
  Runs runs = {drawn_run(1, random), drawn_run(2, random)};
  const auto fit = [&] { return fit_cost(runs, {}, {}, {}); };
  for (RunResult& run : runs) {
    for (RankInfo& rank : run.ranks) rank.device = "CPU A";
    run.versions = {{"MPI", "Open MPI 4"}, {"oneDNN", "3.1"}};
  }
  CHECK_NOTHROW(fit());
  for (RankInfo& rank : runs[1].ranks) rank.device = "CPU B";
  CHECK_THROWS_WITH(fit(), Catch::Contains("differ in processor: CPU A, CPU B; give those of one"));
  for (RankInfo& rank : runs[1].ranks) rank.device = "CPU A";
  test::set_version(runs[1], "oneDNN", "3.2");
  CHECK_THROWS_WITH(fit(), Catch::Contains("differ in oneDNN: 3.1, 3.2; give those of one"));
}

TEST_CASE("a network has the classes of its runs, or those that are asked for", "[predict]") {
  std::mt19937 random(1);
  Runs runs = {drawn_run(1, random), drawn_run(2, random)};
  for (RunResult& run : runs) run.classes = 100;
  const CostFit fit = fit_cost(runs, {}, {}, {});
  CHECK(graph_of(fit).parameter_count() == 269'722 + 90 * 65);
  CHECK(comparison_table(runs, fit, {}, {}).rows.size() == 2);
  Target ten;
  ten.classes = 10;
  const CostFit other = fit_cost(runs, {}, ten, {});
  CHECK(graph_of(other).parameter_count() == 269'722);
  CHECK(comparison_table(runs, other, {}, {}).rows.empty());
  CHECK_THAT(fmt::format("{}", fmt::join(other.notes, " ")),
             Catch::Contains("resnet20 at 32 pixels with 10 classes was not run"));
  runs[1].classes = 10;
  CHECK_THROWS_WITH(fit_cost(runs, {}, {}, {}),
                    Catch::Contains("with 10 classes") && Catch::Contains("with 100 classes"));
}

TEST_CASE("sums in shared memory say nothing of links and additions", "[predict]") {
  std::mt19937 random(1);
  Runs runs = {drawn_run(1, random), drawn_run(1, random), drawn_run(2, random),
               drawn_run(2, random), drawn_run(2, random)};
  const auto sums_of = [](const Runs& all) {
    const CostFit fit = fit_cost(all, {}, {}, {});
    return std::pair(certainty_of(all, fit, {}, {}, {}).sums, fit.machine.gamma_rows);
  };
  const auto [deviation, gammas] = sums_of(runs);
  runs.push_back(runs.back());
  runs.back().all_reduce = "auto (shared)";
  runs.back().summary.all_steps.mean.transfer.mean *= 9;  // far from a ring's
  for (BucketFigures& bucket : runs.back().summary.all_steps.buckets) bucket.add.mean = 9;
  CHECK(sums_of(runs).first == Approx(deviation));
  CHECK(sums_of(runs).second == gammas);
  CHECK_THROWS_WITH(fit_cost({runs.front(), runs.back()}, {}, {}, {}),
                    Catch::Contains("auto (shared) are not used"));
}

TEST_CASE("one rank, small buckets and other sums are not used for links", "[predict]") {
  RunResult small = ring_run(2, 1, kLink, {1e6, 25e6});
  small.summary.all_steps.buckets.push_back(small.summary.all_steps.buckets.front());
  small.summary.all_steps.buckets.back().bytes = 60'000;  // summed by doubling with auto
  small.all_reduce = "auto (doubling to 64 KiB, ring)";
  check_link(fit_machine({small}, {}).inside, kLink.alpha, kLink.beta);

  RunResult nested = ring_run(4, 2, kLink, {1e6, 25e6});
  RunResult window = ring_run(2, 1, kLink, {1e6, 25e6});
  for (const char* other : {"hierarchical", "shared", "auto (ring to 64 KiB, shared)"}) {
    nested.all_reduce = window.all_reduce = other;
    const auto fit = fit_machine({nested, window, ring_run(1, 1, kLink, {1e6})}, {});
    CHECK_FALSE(fit.inside);
    CHECK_FALSE(fit.between);
    REQUIRE(fit.notes.size() == 1);
    CHECK(fit.notes[0].find(other + std::string(" are not used")) != std::string::npos);
  }
}

TEST_CASE("links are fitted to records of the bench rather than to runs", "[predict]") {
  const MadeLink other{1e-3, 1e-6, kLink.gamma};
  const auto fit = fit_machine({ring_run(2, 2, other, {1e6, 25e6})},
                               {bench_of(2, 2, kLink), bench_of(4, 4, kLink)});
  check_link(fit.between, kLink.alpha, kLink.beta);
  CHECK(fit.between->source == "ring.json");
  CHECK_FALSE(fit_machine({}, {bench_of(4, 1, kLink)}).between);
  // Without runs gamma is unknown: half of it is in beta, as a ring adds half of what it sends.
  check_link(fit_machine({}, {bench_of(4, 1, kLink)}).inside, kLink.alpha,
             kLink.beta + kLink.gamma / 2);
  check_link(fit_machine({}, {bench_of(4, 1, kLink)}, kLink.gamma).inside, kLink.alpha, kLink.beta);
}

TEST_CASE("how much messages vary follows from how sums do", "[predict]") {
  BenchResult bench = bench_of(3, 1, kLink);
  CHECK(std::isnan(fit_machine({}, {bench}).message_noise));
  // Quartiles 9 and 11 around a median of 10, of four messages in a row.
  bench.rows = {{"ring", 1e6, 10, {8, 8.5, 9, 9.5, 10, 10.5, 11, 11.5, 12}}};
  CHECK(fit_machine({}, {bench}).message_noise == Approx(2 / 1.349 / 10 * 2));
}

TEST_CASE("compute time over the batch", "[predict]") {
  const auto fit = fit_compute({computing_run(1, 64, 1), computing_run(2, 16, 1)});
  CHECK(fit.fit.separable);
  CHECK(fit.model.backward_share == Approx(0.6));
  CHECK(fit.model.input_per_image == Approx(0.0015));
  CHECK(fit.model.update == Approx(0.007));
  CHECK(fit.model.compute_seconds(10) == Approx(0.030));
  CHECK(fit.model.other_seconds(10) == Approx(0.022));
  // It depends on the micro-batch.
  const auto micro = fit_compute({computing_run(1, 64, 2), computing_run(1, 16, 4)});
  for (const auto& model : {fit.model, micro.model}) {
    CHECK(model.fixed == Approx(0.010));
    CHECK(model.per_image == Approx(0.002));
  }
}

TEST_CASE("one batch does not separate t0 from t1", "[predict]") {
  const auto fit = fit_compute({computing_run(1, 50, 1), computing_run(4, 50, 1)});
  CHECK_FALSE(fit.fit.separable);
  CHECK(fit.model.fixed == 0);
  CHECK(fit.model.per_image == Approx(0.110 / 50));
  CHECK_THROWS_AS(fit_compute({}), InputError);
}

TEST_CASE("noise from the spreads of run.json", "[predict]") {
  RunResult run = made_run({.ranks = 2});
  CHECK(fit_noise({run}).samples == 0);
  test::set_compute(run, {{2, 2, 4}, {1, 1, 2}});
  const auto fit = fit_noise({run});
  CHECK(fit.samples == 6);
  CHECK_FALSE(fit.from_steps);
  // Besides the mean of all six, which is 2: least 1, most 4, medians 2 and 1.
  CHECK(fit.noise.quantile(0) == Approx(0.5));
  CHECK(fit.noise.quantile(0.5) == Approx(0.75));
  CHECK(fit.noise.quantile(1) == Approx(2));
}

TEST_CASE("noise from steps.csv, each step of each rank", "[predict]") {
  const test::ScratchDirectory folder;
  RunResult run = made_run({.ranks = 2});
  run.file = folder.path() / "run.json";
  folder.write("steps.csv",
               "epoch,step,rank,samples,global_samples,seconds,all_reduce\n"
               "1,1,0,10,20,100,0\n"    // warming up
               "2,1,0,10,20,3.5,0.5\n"  // 3
               "2,1,1,10,20,5,4\n"      // 1
               "2,2,0,10,20,2,0\n"      // 2
               "2,2,1,10,20,4,2\n"      // 2
               "2,3,0,1,2,50,0\n");     // partial
  const auto fit = fit_noise({run});
  CHECK(fit.from_steps);
  CHECK(fit.samples == 4);
  CHECK(fit.noise.quantile(0) == Approx(0.5));
  CHECK(fit.noise.quantile(1) == Approx(1.5));
  CHECK(fit.noise.expected_max(1) == Approx(1));
}
