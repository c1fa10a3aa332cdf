#include <cmath>
#include <functional>

#include <catch2/catch.hpp>

#include "study/observation.hpp"
#include "tests/support/made_study.hpp"
#include "train/options.hpp"

using namespace rueda;
using Catch::Contains;
using test::cell;
using test::Evaluated;
using test::made_run;
using test::phases;
using test::runs_of;

namespace {

constexpr auto kBackwardPhase = std::size_t(Phase::backward);

std::vector<Series> series_of(const std::vector<RunResult>& runs) {
  return make_series(observe_all(runs));
}

/// Weak at 10 per rank on 1, 2, 4 ranks; strong at 40 in all on 1, 2 and (the same run) 4.
std::vector<RunResult> two_ways() {
  return {made_run({.ranks = 1, .rank_batch = 10, .epochs = {9, 8.0}, .step = 0.8}),
          made_run({.ranks = 2, .rank_batch = 10, .epochs = {9, 5.0}, .step = 1.0}),
          made_run({.ranks = 4, .rank_batch = 10, .epochs = {9, 4.0}, .step = 1.0}),
          made_run({.ranks = 1, .rank_batch = 40, .epochs = {9, 6.0}, .step = 2.4}),
          made_run({.ranks = 2, .rank_batch = 20, .epochs = {9, 4.5}, .step = 1.8})};
}

/// One rank and two, the two with communication.
std::vector<RunResult> with_communication() {
  return {made_run({.ranks = 1, .epochs = {9, 10.0}, .phases = phases(9.8, 0)}),
          made_run({.ranks = 2,
                    .epochs = {9, 6.5},
                    .phases = phases(5.25, 1.0),
                    .wait = 0.3,
                    .transfer = 0.1,
                    .add = 0.0})};
}

void check_estimate(const Estimate& seen, double value, double low, double high) {
  CHECK(seen.value == Approx(value));
  CHECK(seen.low == Approx(low));
  CHECK(seen.high == Approx(high));
}

Observation processor_run(Processor processor, double first, double steady) {
  Observation seen;
  seen.source = "rueda";
  seen.model = "resnet20";
  seen.processor = processor;
  seen.image_size = 32;
  seen.global_batch = 64;
  seen.images = 1000;
  seen.first_epoch = exactly(first);
  seen.epoch = exactly(steady);
  return seen;
}

}  // namespace

TEST_CASE("runs are sorted into weak and strong series", "[study]") {
  const auto runs = two_ways();
  const Evaluated all(observe_all(runs));
  REQUIRE(all.series.size() == 2);
  CHECK(all.series[0].scaling == Scaling::weak);
  CHECK(all.series[0].batch == 10);
  CHECK(all.series[0].label == "net, 10 per rank");
  CHECK(all.series[1].scaling == Scaling::strong);
  CHECK(all.series[1].batch == 40);
  CHECK(all.series[1].label == "net, 40 global");
  const auto &weak = all.figures[0].points, &strong = all.figures[1].points;
  REQUIRE(weak.size() == 3);
  REQUIRE(strong.size() == 3);
  CHECK(strong[2].point->ranks == 4);  // a run may serve both
  CHECK(strong[2].point->rank_batch == 10);
  // Speedup by epochs and by full steps, worked out by hand.
  CHECK(weak[0].epoch_view.efficiency.value == 1);
  CHECK(weak[2].epoch_view.speedup.value == Approx(8.0 / 4.0));
  CHECK(weak[2].epoch_view.efficiency.value == Approx(0.5));
  // 40 images in 1.0 s against 10 in 0.8 s: 40 / 12.5.
  CHECK(weak[2].step_view.speedup.value == Approx(3.2));
  CHECK(strong[1].epoch_view.speedup.value == Approx(6 / 4.5));
  CHECK(strong[1].step_view.speedup.value == Approx(2.4 / 1.8));
  CHECK(weak[2].images_per_second.value == Approx(25));
}

TEST_CASE("repeats give a median and a range, which speedups inherit", "[study]") {
  const auto runs = runs_of({{1, 8.0}, {1, 8.4}, {1, 7.9}, {2, 4.2}, {2, 4.0}, {2, 5.0}});
  const auto all = series_of(runs);
  REQUIRE(all.size() == 1);
  const Point& two = all[0].points[1];
  CHECK(two.repeats == 3);
  CHECK(two.runs.size() == 3);
  check_estimate(two.epoch, 4.2, 4.0, 5.0);
  check_estimate(epoch_speedup(all[0], two).speedup, 8.0 / 4.2, 7.9 / 5.0, 8.4 / 4.0);
}

TEST_CASE("without one rank, the fewest are the base and count as they are", "[study]") {
  const auto all = series_of(runs_of({{2, 6.0}, {8, 2.0}}));
  CHECK(epoch_speedup(all[0], all[0].points[0]).speedup.value == 2);
  CHECK(epoch_speedup(all[0], all[0].points[1]).speedup.value == Approx(6));
  CHECK(epoch_speedup(all[0], all[0].points[1]).efficiency.value == Approx(0.75));
}

TEST_CASE("runs that differ in time are never in one series", "[study]") {
  std::vector<RunResult> runs = runs_of({{1, 1}, {2, 1}, {1, 1}, {2, 1}});
  for (std::size_t i = 0; i < 4; ++i) runs[i].options = {{"run-dir", std::to_string(i)}};
  CHECK(series_of(runs).size() == 1);
  for (const TrainOption& option : train_options()) {  // --verify-messages among them
    if (option.timing != Timing::variant) continue;
    for (std::size_t i = 0; i < 4; ++i)
      runs[i].options = {{option.name, i < 2 ? "\"a\"" : "\"b\""}};
    const auto all = series_of(runs);
    REQUIRE(all.size() == 2);
    CHECK(all[0].label == "net, 10 per rank, " + std::string(option.name) + " a");
    CHECK(all[1].label == "net, 10 per rank, " + std::string(option.name) + " b");
  }
  for (std::size_t i = 0; i < 4; ++i) runs[i].options = {{"overlap", i < 2 ? "\"off\"" : "null"}};
  CHECK(series_of(runs)[0].label == "net, 10 per rank, overlap off");
  CHECK(series_of(runs)[1].label == "net, 10 per rank");
  runs[0].options = {{"verify-messages", "false"}};
  runs[2].options = {{"verify-messages", "true"}};
  CHECK(series_of({runs[0], runs[2]}).size() == 2);

  // Other numbers of images are another series, too, with another name.
  const auto all = series_of({made_run({}), made_run({.ranks = 2}), made_run({.images = 200}),
                              made_run({.ranks = 2, .images = 200})});
  REQUIRE(all.size() == 2);
  CHECK(all[0].label == "net, 10 per rank, 100 images");
  CHECK(all[1].label == "net, 10 per rank, 200 images");
  CHECK(all[0].id != all[1].id);
}

TEST_CASE("a series is named after how its ranks summed, and not only by auto", "[study]") {
  std::vector<RunResult> runs = runs_of({{1, 1}, {2, 1}, {4, 1}});
  for (RunResult& run : runs) run.all_reduce = "ring";
  CHECK(series_of(runs)[0].label == "net, 10 per rank, ring");
  CHECK(series_of({runs[0]})[0].label == "net, 10 global, P = 1");  // it sums nothing
  for (RunResult run : std::vector(runs)) {
    run.options = {{"all-reduce", "\"auto\""}, {"overlap", "\"off\""}};
    run.all_reduce = run.world_size() > 2 ? "auto (ring)" : "auto (shared)";
    runs.push_back(run);
  }
  const auto all = series_of(runs);
  REQUIRE(all.size() == 2);
  CHECK(all[1].label == "net, 10 per rank, auto (ring) and auto (shared), overlap off");
}

TEST_CASE("models are ordered by depth", "[study]") {
  const std::vector<std::string> models = {"resnet20", "resnet50v2", "resnet152v2", "net"};
  CHECK(std::ranges::is_sorted(models, {}, depth_of));
}

TEST_CASE("a run without a partner is a series of one point", "[study]") {
  const auto uneven = [](std::vector<std::size_t> batches) {
    RunResult run = made_run({.ranks = batches.size()});
    run.global_batch = 0;
    for (const std::size_t batch : batches) run.global_batch += batch;
    run.rank_batches = std::move(batches);
    return run;
  };
  for (const auto& runs : {std::vector{made_run({.ranks = 4}), made_run({.rank_batch = 7})},
                           // Uneven batches of several P have nothing in common.
                           std::vector{uneven({4, 3, 3}), uneven({3, 3, 2, 2, 2})}}) {
    const auto all = series_of(runs);
    REQUIRE(all.size() == 2);
    for (const Series& series : all) {
      CHECK(series.scaling == Scaling::single);
      CHECK(series.points.size() == 1);
    }
  }
  const auto strong = series_of({made_run({.rank_batch = 12}), uneven({3, 3, 2, 2, 2})});
  REQUIRE(strong.size() == 1);
  CHECK(strong[0].scaling == Scaling::strong);
  CHECK(strong[0].points[1].rank_batch == 0);
}

TEST_CASE("rounding is kept where there is one run", "[study]") {
  std::vector<Observation> seen(2);
  for (Observation& one : seen) one.rank_batch = one.global_batch = 8;
  seen[0].epoch = Estimate{14, 14 - 0.5, 14 + 0.5};
  seen[1].ranks = 2;
  seen[1].global_batch = 16;
  seen[1].epoch = Estimate{8, 8 - 0.5, 8 + 0.5};
  const auto all = make_series(seen);
  REQUIRE(all.size() == 1);
  CHECK(all[0].points[0].epoch.low == 13.5);
  CHECK(epoch_speedup(all[0], all[0].points[1]).speedup.high == Approx(14.5 / 7.5));
  check_estimate(Estimate{14, 13.5, 14.5} / Estimate{5, 4.5, 5.5} * 0.25, 0.7, 13.5 / 5.5 / 4,
                 14.5 / 4.5 / 4);
  check_estimate(per(100, Estimate{5, 4, 10}), 20, 10, 25);
}

TEST_CASE("more threads than cores are marked, except where nothing was computed", "[study]") {
  RunResult run = made_run({.ranks = 2, .threads = 1, .cores = 0.5});
  CHECK(observe(run).oversubscribed);
  for (RankInfo& rank : run.ranks) rank.backend = "timed";
  CHECK_FALSE(observe(run).oversubscribed);
  CHECK(observe(run).processor == Processor::timed);
  CHECK_FALSE(observe(made_run({.threads = 1, .cores = 1})).oversubscribed);
}

TEST_CASE("a run whose rank got too little of its cores is marked, whichever repeat it is",
          "[study]") {
  const auto share = [](double first, double steady) {
    RunResult run = made_run({.ranks = 1, .epochs = {9, 8.0}});
    run.epochs[0].of_ranks.emplace_back().core_share = first;
    run.epochs[1].of_ranks.emplace_back().core_share = steady;
    return run;
  };
  const RunResult fine = share(0.5, 0.86), disturbed = share(1, 0.84),
                  old = share(kUnknown, kUnknown);
  CHECK_FALSE(observe(fine).disturbed);  // warming up is no epoch that counts
  CHECK(observe(disturbed).disturbed);
  CHECK_FALSE(observe(old).disturbed);
  const Observation a = observe(fine), b = observe(disturbed);
  CHECK(merged({&a, &b}).disturbed);
}

TEST_CASE("ranks that take cores from each other are not disturbed by others", "[study]") {
  for (const auto& [cores, alone] : {std::pair{1.0, true}, {2.0 / 3, false}, {0.5, false}}) {
    RunResult run = made_run({.ranks = 3, .threads = 1, .cores = cores});
    for (EpochFigures& epoch : run.epochs) epoch.of_ranks.emplace_back().core_share = 0.6;
    CHECK(observe(run).disturbed == alone);
    CHECK(observe(run).oversubscribed == !alone);
  }
}

TEST_CASE("an observation is of the epochs after the first", "[study]") {
  for (const auto& [epochs, steady] :
       {std::pair{std::vector<double>{50, 3, 9, 4}, 4}, {{50}, 50}}) {
    const RunResult run = made_run({.epochs = epochs});
    CHECK(observe(run).epoch.value == steady);
    CHECK(observe(run).first_epoch.value == 50);
    CHECK(observe(run).includes_warm_up == (epochs.size() == 1));
  }
}

TEST_CASE("each process of a resumed run warms up", "[study]") {
  RunResult run = made_run({.epochs = {50, 40}});
  run.epochs[1].resumed_at_step = 0;
  CHECK(observe(run).includes_warm_up);  // both are first ones
  run = made_run({.epochs = {50, 40, 30}});
  run.epochs[1].resumed_at_step = 0;
  CHECK_FALSE(observe(run).includes_warm_up);
  CHECK(observe(run).epoch.value == 30);
}

TEST_CASE("Amdahl's fit finds the fraction that made the times", "[study]") {
  const auto time = [](double p) { return 100 * (0.08 + 0.92 / p); };
  auto runs = runs_of({{1, time(1)}, {2, time(2)}, {4, time(4)}, {8, time(8)}});
  auto fit = amdahl_fraction(series_of(runs)[0]);
  REQUIRE(fit);
  CHECK(fit->value == Approx(0.08));
  CHECK(fit->low == Approx(0.08));
  // Of two points it is Karp and Flatt's: S = 2.8, (1/2.8 - 1/4) / (3/4).
  fit = amdahl_fraction(series_of(runs_of({{1, 14}, {4, 5}}))[0]);
  CHECK(fit->value == Approx(0.142857142857));
  CHECK(karp_flatt(2.8, 4) == Approx(0.142857142857));
  CHECK(gustafson_fraction(3.25, 4) == Approx(0.25));
  CHECK(std::isnan(gustafson_fraction(1, 1)));
  CHECK(std::isnan(karp_flatt(1, 1)));
  // Oversubscribed points are left out.
  runs = runs_of({{1, 10}, {2, 5}, {4, 9}});
  for (RankInfo& rank : runs[2].ranks) rank.cores = 0.5;
  CHECK(amdahl_fraction(series_of(runs)[0])->value == Approx(0));
  for (RankInfo& rank : runs[1].ranks) rank.cores = 0.5;
  CHECK_FALSE(amdahl_fraction(series_of(runs)[0]));
}

TEST_CASE("communication in three ways, and the parts of the lost time", "[study]") {
  // 100 images: 10 steps on one rank, 5 on two.
  auto runs = with_communication();
  runs[1].all_reduce = "shared";
  CHECK(std::isnan(Evaluated(observe_all(runs)).figures[0].points[1].communication.link_busbw));
  runs[1].all_reduce = "ring";
  const Evaluated all(observe_all(runs));
  const PointFigures& two = all.figures[0].points[1];
  const CommunicationFigures& c = two.communication;
  CHECK(c.inferred == Approx(1.5));
  CHECK(c.inferred_same_batch == Approx(1.5));
  CHECK(c.busy == Approx(5 * 0.4));
  CHECK(c.exposed == Approx(1.0));
  CHECK(c.wait == Approx(1.5));
  CHECK(c.transfer == Approx(0.5));
  CHECK(c.link_busbw == Approx(10));  // 10^9 bytes, 2(P-1)/P = 1, 5 steps in 0.5 s
  CHECK_FALSE(all.figures[0].points[0].losses);
  REQUIRE(two.losses);
  CHECK(two.losses->lost == Approx(1.5));
  CHECK(two.losses->phases[kBackwardPhase] == Approx(0.35));
  CHECK(two.losses->phases[kAllReduce] == Approx(1.0));
  CHECK(two.losses->waiting == Approx(0.75));
  CHECK(two.losses->rest == Approx(0.15));
  // A study may begin with more ranks than one.
  const auto later = runs_of({{2, 10}, {4, 6}});
  const Evaluated from_two(observe_all(later));
  CHECK(from_two.figures[0].points[1].communication.inferred == Approx(6 - 10.0 * 2 / 4));
}

TEST_CASE("with a fixed global batch the cost of the small batch is separate", "[study]") {
  const std::vector<RunResult> runs = {
      made_run({.ranks = 1, .rank_batch = 20, .epochs = {9, 10.0}}),
      made_run({.ranks = 1, .rank_batch = 10, .epochs = {9, 12.0}}),
      made_run({.ranks = 2, .rank_batch = 10, .epochs = {9, 7.0}})};
  const Evaluated all(observe_all(runs));
  REQUIRE(all.series[1].scaling == Scaling::strong);
  CHECK(all.figures[1].points[1].communication.inferred == Approx(2.0));
  CHECK(all.figures[1].points[1].communication.inferred_same_batch == Approx(1.0));
}

TEST_CASE("an epoch's slow steps and its partial step", "[study]") {
  RunResult run = made_run({.rank_batch = 30, .epochs = {9, 1.0}, .step = 0.2});
  run.summary.full_step.slowest.mean = 0.25;
  const Evaluated all({observe(run)});
  const EpochParts parts = epoch_parts(all.figures[0].points[0]);
  CHECK(parts.partial_images == 10);  // 100 = 3 x 30 + 10
  CHECK(parts.slow_steps == Approx(3 * 0.05));
  CHECK(parts.partial == Approx(1.0 - 3 * 0.25));
  CHECK(parts.partial_by_images == Approx(0.2 / 3));
}

TEST_CASE("the slowest rank is named with its host", "[study]") {
  RunResult run = made_run({.ranks = 3});
  run.ranks[1].host = "slow";
  test::set_compute(run, {{0.2}, {0.5}, {0.3}});
  const Evaluated all({observe(run)});
  const StragglerFigures s = all.figures[0].points[0].stragglers;
  CHECK(s.slowest == 1);
  CHECK(s.slowest_host == "slow");
  CHECK(s.compute.min == 0.2);
  CHECK(s.compute.max == 0.5);
}

TEST_CASE("the slower processor is the first of a row", "[acceleration]") {
  const Table table = acceleration_table(
      {processor_run(Processor::gpu, 4, 2), processor_run(Processor::cpu, 30, 20)});
  REQUIRE(table.rows.size() == 1);
  CHECK(cell(table, 0, "slower").text() == "CPU (rueda)");
  CHECK(cell(table, 0, "faster").text() == "GPU (rueda)");
  CHECK(cell(table, 0, "first_ratio").number() == 7.5);
  CHECK(cell(table, 0, "steady_ratio").number() == 10);
  CHECK_THAT(table.notes.back(), !Contains("nearly"));  // the book's own remark
}

TEST_CASE("only the same work on one processor each is compared", "[acceleration]") {
  using Change = std::function<void(Observation&)>;
  const std::vector<std::pair<std::size_t, Change>> changes = {
      {1, [](Observation&) {}},
      {0, [](Observation& o) { o.model = "resnet18"; }},
      {0, [](Observation& o) { o.image_size = 128; }},
      {0, [](Observation& o) { o.global_batch = 128; }},
      {0, [](Observation& o) { o.images = 2000; }},
      {0, [](Observation& o) { o.ranks = 2; }},
      {0, [](Observation& o) { o.processor = Processor::cpu; }},  // a repeat
      {0, [](Observation& o) { o.processor = Processor::cpu, o.variant = "precision bf16"; }},
      {1, [](Observation& o) { o.processor = Processor::cpu, o.source = "log f"; }}};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    INFO(i);
    Observation gpu = processor_run(Processor::gpu, 4, 2);
    changes[i].second(gpu);
    const auto rows = acceleration_table({processor_run(Processor::cpu, 30, 20), gpu}).rows;
    CHECK(rows.size() == changes[i].first);
  }
}

TEST_CASE("repeats give the range of ratios", "[acceleration]") {
  const Table table = acceleration_table(
      {processor_run(Processor::cpu, 30, 20), processor_run(Processor::cpu, 32, 24),
       processor_run(Processor::cpu, 31, 20.5), processor_run(Processor::gpu, 4, 2)});
  REQUIRE(table.rows.size() == 1);
  check_estimate(
      {cell(table, 0, "steady_ratio").number(), cell(table, 0, "steady_ratio_low").number(),
       cell(table, 0, "steady_ratio_high").number()},
      10.25, 10, 12);  // of the median
}

TEST_CASE("the factors of POP multiply to the efficiency", "[study]") {
  // Epochs of different times: the median lies in the middle of two. The faster run counts.
  std::vector<RunResult> runs = {made_run({.epochs = {99, 10}}),
                                 made_run({.ranks = 2, .epochs = {99, 8, 6}}),
                                 made_run({.ranks = 2, .epochs = {99, 9, 7}})};
  for (RunResult& run : runs)
    for (EpochFigures& e : run.epochs) e.efficiency = {5.5, 5.6, 6.2, e.seconds};
  runs[0].epochs[1].efficiency.useful_mean = 9.9;
  runs[1].epochs[2].efficiency.useful_mean = 5.3;  // of 6 s
  const Evaluated all(observe_all(runs));
  const PointFigures& two = all.figures.at(0).points.at(1);
  const double useful = (5.5 + 5.3) / 2;
  const double parallel = useful / 7;
  const double scaling = 9.9 / (2 * useful);
  const double global = parallel * scaling;
  CHECK_THAT(std::vector(two.factors.begin(), two.factors.end()),
             Catch::Matchers::Approx(
                 std::vector<double>{parallel, useful / 5.6, 5.6 / 6.2, 6.2 / 7, scaling, global}));
  CHECK(global / all.figures[0].points[0].factors.front() ==
        Approx(two.epoch_view.efficiency.value));
  CHECK(test::number_at(study_tables({}, all.figures).at(2), 2, "transfer") == two.factors[3]);
  for (EpochFigures& e : runs[0].epochs) e.efficiency = {.seconds = e.seconds};  // older
  const Evaluated old(observe_all(runs));
  CHECK(old.figures[0].points[1].factors.front() == two.factors.front());
  CHECK(std::isnan(old.figures[0].points[1].factors.back()));
  CHECK(study_tables({}, old.figures).at(2).rows.size() == 1);
}
