#include <cmath>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "predict/compute_fit.hpp"
#include "predict/machine_fit.hpp"
#include "predict/pair_fit.hpp"
#include "rueda/core/error.hpp"
#include "tests/support/made_buckets.hpp"
#include "tests/support/made_study.hpp"

using namespace rueda;
using namespace rueda::predict;
using Catch::Detail::Approx;
using test::made_run;
using test::ring_run;

namespace {

const test::MadeLink kLink{50e-6, 8e-9, 1e-10};

BenchResult bench_of(std::size_t ranks, std::size_t hosts, const test::MadeLink& link) {
  BenchResult bench{.file = "ring.json", .ranks = ranks, .hosts = hosts, .rows = {}};
  const auto p = static_cast<double>(ranks);
  for (const double bytes : {4e3, 1e6, 1e8}) {
    const double chunk = bytes / p;
    const double seconds =
        2 * (p - 1) * (link.alpha + chunk * link.beta) + (p - 1) * chunk * link.gamma;
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
  const auto b = static_cast<double>(batch * micro_batches);
  const double compute = static_cast<double>(micro_batches) * 0.010 + b * 0.002;
  std::array<double, kPhases> phases{};
  phases[0] = 0.001 * b;      // load
  phases[1] = 0.0005 * b;     // copy
  phases[2] = 0.3 * compute;  // forward
  phases[3] = 0.1 * compute;  // loss
  phases[4] = 0.6 * compute;  // backward
  phases[5] = 99;             // all_reduce
  phases[6] = 0.004;          // optimizer
  phases[7] = 0.003;          // other
  RunResult run = made_run({.ranks = ranks,
                            .rank_batch = batch * micro_batches,
                            .images = ranks * batch * micro_batches,
                            .phases = phases});
  run.micro_batches = micro_batches;
  return run;
}

}  // namespace

TEST_CASE("two costs are found again", "[predict]") {
  const auto y = [](double a, double b) { return 3 * a + 0.5 * b; };
  const auto fit = fit_pair({{1, 2, y(1, 2)}, {2, 100, y(2, 100)}, {5, 1, y(5, 1)}});
  CHECK(fit.separable);
  CHECK(fit.first == Approx(3));
  CHECK(fit.second == Approx(0.5));
  CHECK(fit.rows == 3);
  CHECK(fit.worst_error == Approx(0).margin(1e-12));
}

TEST_CASE("errors count beside what was measured", "[predict]") {
  // x in x = 1 and x = 3: least squares of (x-1)/1 and (x-3)/3 is (1 + 1/3) / (1 + 1/9) = 1.2.
  const auto fit = fit_pair({{0, 1, 1}, {0, 1, 3}});
  CHECK_FALSE(fit.separable);
  CHECK(fit.first == 0);
  CHECK(fit.second == Approx(1.2));
  CHECK(fit.worst_error == Approx(0.6));
  CHECK(fit.typical_error == Approx(std::sqrt((0.2 * 0.2 + 0.6 * 0.6) / 2)));
}

TEST_CASE("no cost is negative", "[predict]") {
  // Through (1, 1) and (2, 3) goes -1 + 2 b; without the first: x with x/1 - 1 and 2x/3 - 1.
  const auto fit = fit_pair({{1, 1, 1}, {1, 2, 3}});
  CHECK(fit.first == 0);
  CHECK(fit.second == Approx((1 + 2.0 / 3) / (1 + 4.0 / 9)));
  const auto other = fit_pair({{1, 1, 1}, {2, 1, 3}});
  CHECK(other.second == 0);
  CHECK(other.first == Approx((1 + 2.0 / 3) / (1 + 4.0 / 9)));
}

TEST_CASE("rows without a time tell nothing", "[predict]") {
  CHECK(fit_pair({}).rows == 0);
  CHECK(fit_pair({{1, 1, 0}, {1, 1, -1}, {1, 1, NAN}}).second == 0);
}

TEST_CASE("the buckets of runs tell the links", "[predict]") {
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

TEST_CASE("one rank, small buckets and other sums tell nothing of links", "[predict]") {
  RunResult small = ring_run(2, 1, kLink, {1e6, 25e6});
  small.steady_communication.buckets.push_back(small.steady_communication.buckets.front());
  small.steady_communication.buckets.back().bytes = 60'000;  // summed by doubling with auto
  small.all_reduce = "auto (doubling to 64 KiB, ring)";
  check_link(fit_machine({small}, {}).inside, kLink.alpha, kLink.beta);

  RunResult nested = ring_run(4, 2, kLink, {1e6, 25e6});
  nested.all_reduce = "hierarchical";
  const auto fit = fit_machine({nested, ring_run(1, 1, kLink, {1e6})}, {});
  CHECK_FALSE(fit.inside);
  CHECK_FALSE(fit.between);
  REQUIRE(fit.notes.size() == 1);
  CHECK(fit.notes[0].find("hierarchical") != std::string::npos);
}

TEST_CASE("a record of the bench tells the links, and wins over runs", "[predict]") {
  const test::MadeLink other{1e-3, 1e-6, kLink.gamma};
  const auto fit = fit_machine({ring_run(2, 2, other, {1e6, 25e6})},
                               {bench_of(2, 2, kLink), bench_of(4, 4, kLink)});
  check_link(fit.between, kLink.alpha, kLink.beta);
  CHECK(fit.between->source == "ring.json");
  CHECK_FALSE(fit_machine({}, {bench_of(4, 1, kLink)}).between);
  // Without runs nothing tells gamma: half of it is in beta, as a ring adds half of what it sends.
  check_link(fit_machine({}, {bench_of(4, 1, kLink)}).inside, kLink.alpha,
             kLink.beta + kLink.gamma / 2);
  check_link(fit_machine({}, {bench_of(4, 1, kLink)}, kLink.gamma).inside, kLink.alpha, kLink.beta);
}

TEST_CASE("how much messages vary follows from how sums do", "[predict]") {
  BenchResult bench = bench_of(3, 1, kLink);
  CHECK(std::isnan(fit_machine({}, {bench}).message_noise));
  // Quartiles 9 and 11 beside a median of 10, of four messages in a row.
  bench.rows = {{"ring", 1e6, 10, {8, 8.5, 9, 9.5, 10, 10.5, 11, 11.5, 12}}};
  CHECK(fit_machine({}, {bench}).message_noise == Approx(2 / 1.349 / 10 * 2));
}

TEST_CASE("compute time over the batch", "[predict]") {
  const auto fit = fit_compute({computing_run(1, 64, 1), computing_run(2, 16, 1)});
  CHECK(fit.fit.separable);
  CHECK(fit.model.fixed == Approx(0.010));
  CHECK(fit.model.per_image == Approx(0.002));
  CHECK(fit.model.backward_share == Approx(0.6));
  CHECK(fit.model.input_per_image == Approx(0.0015));
  CHECK(fit.model.update == Approx(0.007));
  CHECK(fit.model.compute_seconds(10) == Approx(0.030));
  CHECK(fit.model.other_seconds(10) == Approx(0.022));
}

TEST_CASE("micro-batches are what compute time depends on", "[predict]") {
  const auto fit = fit_compute({computing_run(1, 64, 2), computing_run(1, 16, 4)});
  CHECK(fit.batches == std::vector<std::size_t>{16, 64});
  CHECK(fit.model.fixed == Approx(0.010));
  CHECK(fit.model.per_image == Approx(0.002));
}

TEST_CASE("one batch cannot tell t0", "[predict]") {
  const auto fit = fit_compute({computing_run(1, 50, 1), computing_run(4, 50, 1)});
  CHECK_FALSE(fit.fit.separable);
  CHECK(fit.model.fixed == 0);
  CHECK(fit.model.per_image == Approx(0.110 / 50));
  CHECK_THROWS_AS(fit_compute({}), InputError);
}

TEST_CASE("noise from the spreads of run.json", "[predict]") {
  RunResult run = made_run({.ranks = 2});
  CHECK(fit_noise({run}).samples == 0);
  const std::vector<double> slow = {2, 2, 4};
  const std::vector<double> quick = {1, 1, 2};
  run.epochs.back().ranks = {{0, 8, {}, spread_of(slow)}, {1, 4, {}, spread_of(quick)}};
  const auto fit = fit_noise({run});
  CHECK(fit.samples == 6);
  CHECK_FALSE(fit.from_steps);
  // Beside the mean of all six, which is 2: least 1, most 4, medians 2 and 1.
  CHECK(fit.noise.quantile(0) == Approx(0.5));
  CHECK(fit.noise.quantile(0.5) == Approx(0.75));
  CHECK(fit.noise.quantile(1) == Approx(2));
}

TEST_CASE("noise from steps.csv, each step of each rank", "[predict]") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("rueda-noise-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  RunResult run = made_run({.ranks = 2});
  run.file = folder / "run.json";
  std::ofstream(folder / "steps.csv")
      << "epoch,step,rank,samples,global_samples,seconds,all_reduce\n"
         "1,1,0,10,20,100,0\n"    // warming up
         "2,1,0,10,20,3.5,0.5\n"  // 3
         "2,1,1,10,20,5,4\n"      // 1
         "2,2,0,10,20,2,0\n"      // 2
         "2,2,1,10,20,4,2\n"      // 2
         "2,3,0,1,2,50,0\n";      // partial
  const auto fit = fit_noise({run});
  CHECK(fit.from_steps);
  CHECK(fit.samples == 4);
  CHECK(fit.noise.quantile(0) == Approx(0.5));
  CHECK(fit.noise.quantile(1) == Approx(1.5));
  CHECK(fit.noise.expected_max(1) == Approx(1));
  std::filesystem::remove_all(folder);
}
