#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>

#include <catch2/catch.hpp>

#include "tests/support/made_study.hpp"

using namespace rueda;
using Catch::Contains;
using test::Evaluated;
using test::made_run;
using test::phases;
using test::runs_of;

namespace {

constexpr auto kBack = std::size_t(Phase::backward);

std::string said(const std::vector<RunResult>& runs, const FindingOptions& options = {}) {
  Study study;
  study.runs = runs;
  const Evaluated all(observe_all(study.runs));
  std::string text;
  for (const Finding& finding : findings(study, all.figures, options)) text += finding.text + "\n";
  return text;
}

/// `ranks` ranks with an epoch of backward and all-reduce alone, whatever they take.
RunResult of_parts(std::size_t ranks, double backward, double all_reduce) {
  return made_run({.ranks = ranks,
                   .epochs = {99, backward + all_reduce},
                   .phases = phases(backward, all_reduce)});
}

double whole_of(const PhaseSeconds& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

std::vector<RunResult> with(std::vector<RunResult> runs, const std::string& option,
                            const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].options[option] = values.at(i);
  return runs;
}

}  // namespace

TEST_CASE("what is shown of a point adds up, with any number of repeats and epochs", "[study]") {
  const std::vector<RunResult> repeats = {of_parts(1, 20, 3), of_parts(1, 50, 6),
                                          of_parts(1, 30, 4), of_parts(1, 21, 5)};
  // In order: 23, 26, 34, 56 s.
  for (const auto& [count, seconds] :
       {std::pair<std::size_t, double>{1, 23}, {2, 23}, {3, 34}, {4, 26}}) {
    const std::vector<RunResult> runs(repeats.begin(), repeats.begin() + std::ptrdiff_t(count));
    const Evaluated all(observe_all(runs));
    const PointFigures& one = all.figures.at(0).points.at(0);
    CHECK(one.point->epoch.value == seconds);
    CHECK(one.point->epoch.low == 23);
    CHECK(one.point->epoch.high == (count == 1 ? 23 : 56));
    CHECK(whole_of(one.epoch_phases) == Approx(seconds));
    CHECK(one.run->epochs.back().seconds == seconds);
  }
  RunResult run = made_run({.epochs = {99, 6, 18, 7, 16}, .phases = phases(6, 0)});
  const double backward[] = {99, 6, 18, 7, 16};
  for (std::size_t e = 0; e < 5; ++e) run.epochs[e].phases[kBack].mean = backward[e];
  const Evaluated all({observe(run)});
  CHECK(all.figures[0].points[0].point->epoch.value == 11.5);  // of 7 and 16
  CHECK(whole_of(all.figures[0].points[0].epoch_phases) == Approx(11.5));
}

TEST_CASE("a cause is named only where repeats differ by less than it", "[study]") {
  // 0.6 s lost. The repeats on one rank differ by `apart`, half of which counts on two.
  const auto text = [](double apart) {
    return said({of_parts(1, 10, 0), of_parts(1, 10 + apart, 0), of_parts(1, 10 + apart, 0),
                 of_parts(2, 5 + apart / 2, 0.6)});
  };
  CHECK_THAT(text(1.1), Contains("The cause is the exposed all-reduce 0.600 s (100.0 %)."));
  CHECK_THAT(text(1.3), Contains("lose 0.600 s an epoch. Repeats of one configuration differ by "
                                 "0.650 s: no cause is determined.") &&
                            !Contains("The cause"));
  // The whole is more than repeats differ by, but no part of it is.
  const std::vector<RunResult> swapped = {of_parts(1, 10, 0), of_parts(2, 6, 0.5),
                                          of_parts(2, 5, 1.5)};
  CHECK_THAT(said(swapped), Contains("No part of it is more than repeats differ by"));
}

TEST_CASE("a factor is blamed only where repeats agree on it", "[study]") {
  std::vector<RunResult> runs = runs_of({{1, 10}, {2, 8}, {2, 8}});
  runs[0].epochs[1].efficiency = {10, 10, 10, 10};
  runs[1].epochs[1].efficiency = {5, 5.1, 5.2, 8};
  runs[2].epochs[1].efficiency = {5, 5.1, 5.2, 8};
  CHECK_THAT(said(runs), Contains("most by transfer (0.65)."));
  runs[2].epochs[1].efficiency = {5, 7.8, 7.9, 8};
  CHECK_THAT(said(runs), Contains("is lost; repeats do not agree by which factor most."));
}

TEST_CASE("a phase grows only by more than repeats differ", "[study]") {
  const auto text = [](double other) {
    return said({of_parts(1, 9.8, 0), of_parts(2, 5, 1.5), of_parts(2, 5, other)});
  };
  // 0, and 300 ms or more of a step; the repeats differ by 200 or 500 ms.
  CHECK_THAT(text(2.5), Contains("the phase that grows most is the exposed all-reduce"));
  CHECK_THAT(text(4.0), !Contains("grows most"));
}

TEST_CASE("a single P has no speedup", "[study]") {
  for (const auto& runs : {runs_of({{2, 6}}), runs_of({{1, 6}, {1, 7}})}) {
    const Evaluated all(observe_all(runs));
    for (const PointFigures& f : all.figures.at(0).points) {
      CHECK_FALSE(known(f.epoch_view.speedup));
      CHECK_FALSE(known(f.step_view.efficiency));
    }
    for (const Table& table : {overview_table(all.figures), study_tables({}, all.figures).at(0)})
      CHECK(std::isnan(test::cell(table, 0, "speedup").number()));
  }
  const auto runs = runs_of({{2, 6}, {4, 4}});
  CHECK(Evaluated(observe_all(runs)).figures[0].points[0].epoch_view.speedup.value == 2);
}

TEST_CASE("shares of causes are of what took longer, and add up", "[study]") {
  const std::string text = said({of_parts(1, 9.8, 0), of_parts(2, 4, 2.2)});
  CHECK_THAT(text,
             Contains("the exposed all-reduce 2.200 s (100.0 %), of 2.200 s that took longer"));
  const std::string all = said({of_parts(1, 10, 0), of_parts(2, 6, 1)});
  CHECK_THAT(all, Contains("backward 1.000 s (50.0 %) and the exposed all-reduce") ||
                      Contains("the exposed all-reduce 1.000 s (50.0 %) and backward"));
  CHECK_THAT(all, !Contains("that took longer than with ideal"));
}

TEST_CASE("one time has one figure and one word in all sentences", "[study]") {
  // Epochs differ, so that means over all are not those of the middle one.
  std::vector<RunResult> runs = {of_parts(1, 10, 0), of_parts(2, 5, 1)};
  for (const double exposed : {0.9, 3.0}) {
    EpochFigures epoch = runs[1].epochs.back();
    epoch.seconds = 5 + exposed;
    test::set_means(epoch.phases, phases(5, exposed));
    epoch.all_steps.mean.phases[kAllReduce].mean = exposed / 5;
    runs[1].epochs.push_back(epoch);
  }
  for (EpochFigures& epoch : runs[1].epochs) epoch.all_steps.mean.busy.mean = 0.5;
  runs[1].summary.all_steps.mean.phases[kAllReduce].mean = (1 + 0.9 + 3.0) / 3 / 5;
  const std::string text = said(runs);
  CHECK_THAT(text, Contains("The cause is the exposed all-reduce 1.000 s (100.0 %)"));
  CHECK_THAT(text, Contains("and 2.500 s as measured in the all-reduce; 1.000 s were exposed (60.0 "
                            "% hidden behind the backward pass)"));
  CHECK_THAT(text, !Contains("waited") && !Contains("waiting for the all-reduce"));
}

TEST_CASE("transfer is not blamed and denied at once", "[study]") {
  const auto text = [](const EfficiencySeconds& of_two, double wait) {
    std::vector<RunResult> runs = {of_parts(1, 10, 0), made_run({.ranks = 2,
                                                                 .epochs = {99, 8},
                                                                 .phases = phases(5, 3),
                                                                 .wait = wait,
                                                                 .transfer = 0.1})};
    runs[0].epochs[1].efficiency = {10, 10, 10, 10};
    runs[1].epochs[1].efficiency = of_two;
    return said(runs);
  };
  const EfficiencySeconds transfer = {5, 5.1, 5.2, 8}, late = {5, 7.6, 7.7, 8};
  CHECK_THAT(text(transfer, 0.3), Contains("most by transfer") && !Contains("that came later"));
  CHECK_THAT(text(late, 0.3), Contains("most by load balance") &&
                                  Contains("Most of the exposed all-reduce (75.0 %) is waiting for "
                                           "ranks that came later."));
  CHECK_THAT(text(late, 0.09), !Contains("that came later"));
}

TEST_CASE("a range on both sides of a bound determines nothing", "[study]") {
  // Efficiency on two ranks: 10 / 2T; the log shows 10 s and whole seconds.
  const auto text = [](std::vector<double> seconds) {
    std::vector<RunResult> runs = runs_of({{1, 10}});
    for (const double each : seconds) runs.push_back(made_run({.ranks = 2, .epochs = {9, each}}));
    return said(runs);
  };
  CHECK_THAT(text({9}), Contains("rounding would not have changed the conclusion."));
  CHECK_THAT(text({6.4}), Contains("as it is below 80.0 %"));
  CHECK_THAT(text({6.9}), Contains("the log would leave open whether it is below 80.0 %"));
  CHECK_THAT(text({6.1, 6.4, 6.5}), Contains("repeats leave open whether it is below 80.0 %"));
}

TEST_CASE("ranks that repeats do not tell apart are recommended together", "[study]") {
  const auto text = [](double again, Purpose purpose) {
    return said(runs_of({{1, 20}, {2, 11}, {2, 11}, {2, again}, {4, 10}}), {.purposes = {purpose}});
  };
  CHECK_THAT(text(10.5, Purpose::time), Contains("take 4 ranks for the shortest epoch."));
  CHECK_THAT(text(9.5, Purpose::time),
             Contains("take 2 or 4 ranks for the shortest epoch (repeats do not tell which)."));
  // 20 / 2T is 0.8 at 12.5 s.
  CHECK_THAT(text(12.4, Purpose::efficiency), Contains("take 2 ranks as the most that keep"));
  CHECK_THAT(text(12.6, Purpose::efficiency), Contains("take 1 or 2 ranks as the most that keep"));
}

TEST_CASE("Amdahl's limit is told only where it is determined and holds", "[study]") {
  const auto of_two = [](std::vector<double> seconds) {
    std::vector<RunResult> runs = runs_of({{1, 10}});
    for (const double each : seconds) runs.push_back(made_run({.ranks = 2, .epochs = {9, each}}));
    return runs;
  };
  // s = T / 5 - 1.
  CHECK_THAT(said(of_two({6, 6, 6.5})),
             Contains("fraction of 20.0 % (20.0 % to 30.0 %), a limit of 5.00 (3.33 to 5.00)"));
  CHECK_THAT(said(of_two({4.9, 6, 6.5})), Contains("is not determined, but at least 3.33"));
  CHECK_THAT(said(of_two({5.5, 6, 10.5})), Contains("is not determined, but at most 10.00"));
  CHECK_THAT(said(of_two({4.9, 6, 10.5})),
             Contains("Amdahl's serial fraction is not determined") && !Contains("a limit"));
  const auto limit = [](const std::vector<RunResult>& runs) {
    const Evaluated all(observe_all(runs));
    for (const Table& table : study_tables({}, all.figures))
      if (table.id == "serial_fraction") return test::cell(table, 0, "amdahl_limit").number();
    return 0.0;
  };
  CHECK(limit(of_two({6, 6, 6.5})) == Approx(5));
  CHECK(std::isnan(limit(of_two({4.9, 6, 6.5}))));
  // No step from 4 to 8 fits a speedup of 4 on 8 after 1.2 on 4.
  const auto misfit = runs_of({{1, 10}, {2, 9.5}, {4, 8.8}, {8, 2.5}});
  CHECK_THAT(said(misfit),
             Contains("Amdahl's law does not fit: its limit for the speedup would be") &&
                 Contains("and 4.00 was measured"));
  CHECK(std::isnan(limit(misfit)));
}

TEST_CASE("no bound of Amdahl's limit is rounded across the speedup that was measured", "[study]") {
  // s = T / 5 - 1. The best repeat has a speedup of 1.016 and a limit of 1.032.
  auto runs = runs_of({{1, 10}, {2, 9.845}, {2, 9.9}, {2, 10.2}});
  CHECK_THAT(said(runs), Contains("is not determined, but at most 1.04"));
  // The worst has a limit of 3.3557.
  runs = runs_of({{1, 10}, {2, 4.9}, {2, 6}, {2, 6.49}});
  CHECK_THAT(said(runs), Contains("is not determined, but at least 3.35"));
}

TEST_CASE("the limit counts from the fewest ranks", "[study]") {
  // s = 0.2 from two ranks on, which count as two: 2 / 0.2.
  const auto runs = runs_of({{2, 10}, {4, 6}});
  CHECK_THAT(said(runs), Contains("fraction of 20.0 %, a limit of 10.00 for the speedup"));
}

TEST_CASE("Karp and Flatt are judged by all points", "[study]") {
  const auto text = [](double two, double four, double eight) {
    const auto time = [](double s, double p) { return 10 * (s + (1 - s) / p); };
    return said(runs_of({{1, 10}, {2, time(two, 2)}, {4, time(four, 4)}, {8, time(eight, 8)}}));
  };
  CHECK_THAT(text(0.1, 0.15, 0.2), Contains("from 10.0 % over 15.0 % to 20.0 %: the loss is "
                                            "overhead that grows with P"));
  CHECK_THAT(text(0.1, 0.3, 0.2), Contains("it rises and falls with P"));
  CHECK_THAT(text(0.1, 0.104, 0.1), Contains("no overhead that grows with P"));
  CHECK_THAT(text(0.2, 0.15, 0.1), Contains("no overhead that grows with P"));
}

TEST_CASE("a growing fraction counts only where repeats tell it", "[study]") {
  const auto text = [](double again) {
    return said(runs_of({{1, 10}, {2, 5.5}, {2, 5.5}, {2, again}, {4, 4}}));
  };
  // Fractions 0.1 and 0.2; that of the repeat is T / 5 - 1.
  CHECK_THAT(text(5.9), Contains("the loss is overhead that grows with P"));
  CHECK_THAT(text(6.1), Contains("repeats do not tell whether it grows with P"));
}

TEST_CASE("runs on different machines are different series, named by what differs", "[study]") {
  auto runs = runs_of({{1, 4}, {2, 2}, {1, 3}, {2, 1}});
  const auto labels = [&] {
    std::vector<std::string> all;
    for (const Series& series : make_series(observe_all(runs))) all.push_back(series.label);
    return all;
  };
  CHECK(labels().size() == 1);
  for (RunResult& run : runs)
    run.versions = {{"rueda", run.file.string()}, {"MPI", "Open MPI 4, a"}};
  test::set_version(runs[0], "rueda", "another");
  CHECK(labels().size() == 1);
  for (const std::size_t i : {2U, 3U})
    for (RankInfo& rank : runs[i].ranks) rank.device = "CPU B";
  CHECK(labels() == std::vector<std::string>{"net, 10 per rank, processor CPU A",
                                             "net, 10 per rank, processor CPU B"});
  for (RunResult& run : runs) run.ranks.front().device = run.ranks.back().device = "CPU A";
  for (const std::size_t i : {2U, 3U}) test::set_version(runs[i], "MPI", "Open MPI 5, b");
  CHECK(labels() == std::vector<std::string>{"net, 10 per rank, MPI Open MPI 4",
                                             "net, 10 per rank, MPI Open MPI 5"});
  for (const std::size_t i : {2U, 3U}) test::set_version(runs[i], "MPI", "Open MPI 4, b");
  CHECK(labels().at(1) == "net, 10 per rank, MPI Open MPI 4, b");
  for (RunResult& run : runs) {
    run.versions = {{"MPI", "x"}, {"cuDNN", std::to_string(run.epochs.back().seconds)}};
  }
  CHECK(labels().size() == 1);  // no GPU computed
  for (RunResult& run : runs) {
    for (RankInfo& rank : run.ranks) rank.backend = "cuda";
    test::set_version(run, "cuDNN", &run < runs.data() + 2 ? "8" : "9");
  }
  CHECK(labels().at(1) == "net, 10 per rank, cuDNN 9");
  for (RankInfo& rank : runs[0].ranks) rank.device = "CPU C";
  for (RunResult& run : runs)
    for (RankInfo& rank : run.ranks) rank.backend = "timed";  // which computes nothing
  CHECK(labels().size() == 1);
}

TEST_CASE("times of the timed backend are no repeats of each other", "[study]") {
  std::vector<RunResult> runs = runs_of({{1, 4}, {2, 2}, {1, 16}, {2, 8}});
  for (RunResult& run : runs)
    for (RankInfo& rank : run.ranks) rank.backend = "timed";
  const auto all =
      make_series(observe_all(with(runs, "compute", {"ms=10", "ms=10", "ms=40", "ms=40"})));
  REQUIRE(all.size() == 2);
  CHECK_THAT(all[0].label, Contains("compute ms=10"));
  CHECK(all[0].points[0].repeats == 1);
  // A strong study gives each batch its own.
  std::vector<RunResult> strong = {made_run({.rank_batch = 20}), made_run({.ranks = 2})};
  const auto one = make_series(observe_all(with(strong, "compute", {"ms=40", "ms=20"})));
  REQUIRE(one.size() == 1);
  CHECK(one[0].points.size() == 2);
}

TEST_CASE("every table of a timed run says that nothing was computed", "[study]") {
  std::vector<RunResult> runs = {of_parts(1, 4, 0), of_parts(2, 2, 1)};
  const auto lacking = [&] {
    Study study;
    study.runs = runs;
    const Evaluated all(observe_all(study.runs));
    std::vector<Table> tables = study_tables(study, all.figures);
    for (const Tables& more : {layout_tables("nyu", all.figures, all.observations),
                               layout_tables("book", all.figures, all.observations),
                               Tables{overview_table(all.figures)}})
      tables.insert(tables.end(), more.begin(), more.end());
    std::vector<std::string> without;
    for (const Table& table : tables)
      if (to_markdown(table).find("nothing computed") == std::string::npos)
        without.push_back(table.id);
    return without.size() == tables.size() ? std::vector<std::string>{"all"} : without;
  };
  CHECK(lacking() == std::vector<std::string>{"all"});
  for (RunResult& run : runs)
    for (RankInfo& rank : run.ranks) rank.backend = "timed";
  CHECK(lacking() == std::vector<std::string>{});
}

TEST_CASE("rows of several processors differ in every table", "[study]") {
  std::vector<RunResult> runs = runs_of({{1, 4}, {1, 5}, {1, 6}, {1, 7}});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string kind = i < 2 ? "cpu" : "cuda";
    for (RankInfo& rank : runs[i].ranks) {
      rank.backend = kind;
      rank.device = kind + (i % 2 == 0 ? " one" : " two");
    }
  }
  const Evaluated all(observe_all(runs));
  Tables tables = study_tables({}, all.figures);
  std::ranges::move(layout_tables("book", all.figures, all.observations),
                    std::back_inserter(tables));
  const auto rows_of = [&](const std::string& id) {
    const auto table = std::ranges::find(tables, id, &Table::id);
    REQUIRE(table != tables.end());
    std::set<std::string> names;  // of the texts alone: figures differ anyway
    for (const auto& row : table->rows) {
      std::string name;
      for (const Cell& cell : row) name += cell.text() + "|";
      names.insert(name);
    }
    return names.size();
  };
  CHECK(rows_of("scaling") == 4);
  CHECK(rows_of("batches") == 4);
  CHECK(rows_of("book_task_10_3") == 2);
}

TEST_CASE("what was not given is in no name, and a star has its legend", "[study]") {
  std::vector<RunResult> runs = runs_of({{1, 4}, {2, 2}});
  const auto all = make_series(observe_all(with(runs, "wire", {"null", "bf16"})));
  for (const Series& one : all) CHECK_THAT(one.label, !Contains("null"));
  const auto note = [&] { return to_text(overview_table(Evaluated(observe_all(runs)).figures)); };
  CHECK_THAT(note(), !Contains("*: more threads than cores."));
  for (RankInfo& rank : runs[1].ranks) rank.threads = 1000;
  CHECK_THAT(note(), Contains("*: more threads than cores."));
}

TEST_CASE("the table of runs marks one that diverged, whatever its outcome is", "[study]") {
  Study study;
  study.runs = runs_of({{1, 4}, {2, 2}});
  study.runs[1].summary.diverged = true;
  const std::string text = to_text(study_tables(study, {}).back());
  CHECK_THAT(text, Contains("completed, diverged"));
  study.runs[1].summary.diverged = false;
  CHECK_THAT(to_text(study_tables(study, {}).back()), !Contains("diverged"));
}

TEST_CASE("a rank with more images is no straggler for that", "[study]") {
  RunResult run = made_run({.ranks = 2});
  test::set_compute(run, {{0.6}, {0.36}});
  const auto found = [&] { return Evaluated({observe(run)}).figures[0].points[0].stragglers; };
  run.rank_batches = {2, 1};
  CHECK(found().slowest == 1);  // 0.3 s an image and 0.36
  CHECK(found().compute.max == Approx(1.5 * 0.36));
  run.rank_batches = {2, 2};
  CHECK(found().slowest == 0);
  CHECK(found().compute.max == 0.6);
}

TEST_CASE("stragglers are judged by the median of their steps", "[study]") {
  RunResult run = made_run({.ranks = 2});
  test::set_compute(run, {{0.3, 0.3, 0.3}, {0.2, 0.2, 0.9}});
  const Evaluated all({observe(run)});
  CHECK(all.figures[0].points[0].stragglers.slowest == 0);
  CHECK(all.figures[0].points[0].stragglers.compute.max == 0.3);
}

TEST_CASE("useful time of a base of several ranks counts as often", "[study]") {
  std::vector<RunResult> runs = runs_of({{2, 10}, {4, 6}});
  runs[0].epochs[1].efficiency = {9, 9, 9, 10};
  runs[1].epochs[1].efficiency = {5, 5, 5, 6};
  const Evaluated all(observe_all(runs));
  // 18 s of two ranks, and 20 s of four.
  CHECK(all.figures[0].points[1].factors.at(4) == Approx(0.9));
}
