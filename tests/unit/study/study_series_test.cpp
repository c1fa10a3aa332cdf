#include <catch2/catch.hpp>

#include "rueda/study/series.hpp"
#include "rueda/train/options.hpp"
#include "tests/support/made_study.hpp"

using namespace rueda;
using test::made_run;

namespace {

/// Weak at 10 per rank on 1, 2, 4 ranks; strong at 40 in all on 1, 2 and (the same run) 4.
std::vector<RunResult> two_ways() {
  std::vector<RunResult> runs;
  runs.push_back(made_run({.ranks = 1, .rank_batch = 10, .epochs = {9, 8.0}, .step = 0.8}));
  runs.push_back(made_run({.ranks = 2, .rank_batch = 10, .epochs = {9, 5.0}, .step = 1.0}));
  runs.push_back(made_run({.ranks = 4, .rank_batch = 10, .epochs = {9, 4.0}, .step = 1.0}));
  runs.push_back(made_run({.ranks = 1, .rank_batch = 40, .epochs = {9, 6.0}, .step = 2.4}));
  runs.push_back(made_run({.ranks = 2, .rank_batch = 20, .epochs = {9, 4.5}, .step = 1.8}));
  return runs;
}

}  // namespace

TEST_CASE("runs are sorted into weak and strong series", "[study]") {
  const auto runs = two_ways();
  const auto all = make_series(observe_all(runs));
  REQUIRE(all.size() == 2);
  CHECK(all[0].scaling == Scaling::weak);
  CHECK(all[0].batch == 10);
  CHECK(all[0].label == "net, 10 per rank");
  REQUIRE(all[0].points.size() == 3);
  CHECK(all[1].scaling == Scaling::strong);
  CHECK(all[1].batch == 40);
  CHECK(all[1].label == "net, 40 global");
  REQUIRE(all[1].points.size() == 3);
  CHECK(all[1].points[2].ranks == 4);  // a run may serve both
  CHECK(all[1].points[2].rank_batch == 10);
}

TEST_CASE("speedup by epochs and by full steps, worked out by hand", "[study]") {
  const auto runs = two_ways();
  const auto all = make_series(observe_all(runs));
  const Series& weak = all[0];
  CHECK(epoch_speedup(weak, weak.points[0]).efficiency.value == 1);
  CHECK(epoch_speedup(weak, weak.points[2]).speedup.value == Approx(8.0 / 4.0));
  CHECK(epoch_speedup(weak, weak.points[2]).efficiency.value == Approx(0.5));
  // 40 images in 1.0 s against 10 in 0.8 s: 40 / 12.5.
  CHECK(step_speedup(weak, weak.points[2]).speedup.value == Approx(3.2));
  const Series& strong = all[1];
  CHECK(epoch_speedup(strong, strong.points[1]).speedup.value == Approx(6 / 4.5));
  CHECK(step_speedup(strong, strong.points[1]).speedup.value == Approx(2.4 / 1.8));
  CHECK(throughput(weak.points[2]).value == Approx(25));
}

TEST_CASE("repeats give a median and a range, which speedups inherit", "[study]") {
  std::vector<RunResult> runs;
  for (const double seconds : {8.0, 8.4, 7.9}) runs.push_back(made_run({.epochs = {9, seconds}}));
  for (const double seconds : {4.2, 4.0, 5.0})
    runs.push_back(made_run({.ranks = 2, .epochs = {9, seconds}}));
  const auto all = make_series(observe_all(runs));
  REQUIRE(all.size() == 1);
  const Point& two = all[0].points[1];
  CHECK(two.repeats == 3);
  CHECK(two.epoch.value == 4.2);
  CHECK(two.epoch.low == 4.0);
  CHECK(two.epoch.high == 5.0);
  const Speedup s = epoch_speedup(all[0], two);
  CHECK(s.speedup.value == Approx(8.0 / 4.2));
  CHECK(s.speedup.low == Approx(7.9 / 5.0));
  CHECK(s.speedup.high == Approx(8.4 / 4.0));
}

TEST_CASE("without one rank, the fewest are the base and count as they are", "[study]") {
  const std::vector<RunResult> runs = {made_run({.ranks = 2, .epochs = {9, 6.0}}),
                                       made_run({.ranks = 8, .epochs = {9, 2.0}})};
  const auto all = make_series(observe_all(runs));
  CHECK(epoch_speedup(all[0], all[0].points[0]).speedup.value == 2);
  CHECK(epoch_speedup(all[0], all[0].points[1]).speedup.value == Approx(6));
  CHECK(epoch_speedup(all[0], all[0].points[1]).efficiency.value == Approx(0.75));
}

TEST_CASE("what differs in time is never in one series", "[study]") {
  std::vector<RunResult> runs = {made_run({}), made_run({.ranks = 2}), made_run({}),
                                 made_run({.ranks = 2})};
  for (std::size_t i = 0; i < 4; ++i) {
    runs[i].options = {{"run-dir", std::to_string(i)}};
  }
  CHECK(make_series(observe_all(runs)).size() == 1);
  for (const TrainOption& option : train_options()) {
    if (option.timing != Timing::variant) continue;
    for (std::size_t i = 0; i < 4; ++i)
      runs[i].options = {{option.name, i < 2 ? "\"a\"" : "\"b\""}};
    const auto all = make_series(observe_all(runs));
    REQUIRE(all.size() == 2);
    CHECK(all[0].label == "net, 10 per rank, " + std::string(option.name) + " a");
    CHECK(all[1].label == "net, 10 per rank, " + std::string(option.name) + " b");
  }
}

TEST_CASE("runs that verify messages are no repeats of runs that do not", "[study]") {
  std::vector<RunResult> runs = {made_run({}), made_run({})};
  runs[0].options = {{"verify-messages", "false"}};
  runs[1].options = {{"verify-messages", "true"}};
  CHECK(make_series(observe_all(runs)).size() == 2);
}

TEST_CASE("other numbers of images are another series, told apart by name", "[study]") {
  const std::vector<RunResult> runs = {made_run({}), made_run({.ranks = 2}),
                                       made_run({.images = 200}),
                                       made_run({.ranks = 2, .images = 200})};
  const auto all = make_series(observe_all(runs));
  REQUIRE(all.size() == 2);
  CHECK(all[0].label != all[1].label);
  CHECK(all[0].id != all[1].id);
}

TEST_CASE("a run without a partner is a series of one point", "[study]") {
  const std::vector<RunResult> runs = {made_run({.ranks = 4}), made_run({.rank_batch = 7})};
  const auto all = make_series(observe_all(runs));
  REQUIRE(all.size() == 2);
  for (const Series& series : all) {
    CHECK(series.scaling == Scaling::single);
    CHECK(series.points.size() == 1);
  }
}

TEST_CASE("uneven rank batches belong to no weak series", "[study]") {
  std::vector<RunResult> runs = {made_run({.rank_batch = 12}), made_run({.ranks = 5}),
                                 made_run({.ranks = 5})};
  for (std::size_t i : {1u, 2u}) {
    runs[i].rank_batches = {3, 3, 2, 2, 2};
    runs[i].global_batch = 12;
  }
  const auto all = make_series(observe_all(runs));
  REQUIRE(all.size() == 1);
  CHECK(all[0].scaling == Scaling::strong);
  CHECK(all[0].points[1].rank_batch == 0);
}

TEST_CASE("uneven rank batches of several P have nothing in common", "[study]") {
  std::vector<RunResult> runs = {made_run({.ranks = 3}), made_run({.ranks = 5})};
  runs[0].rank_batches = {4, 3, 3};
  runs[0].global_batch = 10;
  runs[1].rank_batches = {3, 3, 2, 2, 2};
  runs[1].global_batch = 12;
  const auto all = make_series(observe_all(runs));
  REQUIRE(all.size() == 2);
  CHECK(all[0].scaling == Scaling::single);
}

TEST_CASE("what rounding leaves open is kept where there is one run", "[study]") {
  Observation seen;
  seen.source = "a log";
  seen.ranks = 1;
  seen.rank_batch = seen.global_batch = 8;
  seen.epoch = rounded(14, 0.5);
  Observation two = seen;
  two.ranks = 2;
  two.global_batch = 16;
  two.epoch = rounded(8, 0.5);
  const auto all = make_series({seen, two});
  REQUIRE(all.size() == 1);
  CHECK(all[0].points[0].epoch.low == 13.5);
  CHECK(epoch_speedup(all[0], all[0].points[1]).speedup.high == Approx(14.5 / 7.5));
}

TEST_CASE("more threads than cores are marked, unless nothing was computed on them", "[study]") {
  RunResult run = made_run({.ranks = 2, .threads = 1, .cores = 0.5});
  CHECK(observe(run).oversubscribed);
  for (RankResult& rank : run.ranks) rank.backend = "timed";
  CHECK_FALSE(observe(run).oversubscribed);
  CHECK(observe(run).processor == Processor::timed);
  CHECK_FALSE(observe(made_run({.threads = 1, .cores = 1})).oversubscribed);
}

TEST_CASE("an observation is of the epochs after the first", "[study]") {
  const RunResult run = made_run({.epochs = {50, 3, 9, 4}});
  CHECK(observe(run).epoch.value == 4);
  CHECK(observe(run).first_epoch.value == 50);
  CHECK_FALSE(observe(run).includes_warm_up);
  const RunResult one = made_run({.epochs = {50}});
  CHECK(observe(one).epoch.value == 50);
  CHECK(observe(one).includes_warm_up);
}
