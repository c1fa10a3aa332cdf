#include <limits>
#include <stdexcept>

#include <catch2/catch.hpp>

#include "tests/support/made_study.hpp"

using namespace rueda;
using Catch::Contains;
using test::Evaluated;
using test::made_run;
using test::phases;
using test::runs_of;

namespace {

std::string text_of(const Study& study, const FindingOptions& options = {}) {
  const Evaluated all(observe_all(study.runs));
  std::string text;
  for (const Finding& finding : findings(study, all.figures, options))
    text += finding.about + ": " + finding.text + "\n";
  return text;
}

Study study_of(std::vector<RunResult> runs) {
  Study study;
  study.runs = std::move(runs);
  return study;
}

/// The step times of the book's ResNet50V2 runs: 25 x 544, 13 x 623, 7 x 768 ms.
Study book_like() {
  Study study;
  for (const auto& [ranks, seconds] :
       std::vector<std::pair<std::size_t, double>>{{1, 13.60}, {2, 8.10}, {4, 5.38}}) {
    const double ideal = 13.6 / double(ranks);
    study.runs.push_back(made_run(
        {.ranks = ranks, .epochs = {47, seconds}, .phases = phases(ideal, seconds - ideal)}));
  }
  return study;
}

Table sample() {
  Table table{.id = "t",
              .title = "A | title",
              .columns = {{"name", "name", Show::text},
                          {"epoch_seconds", "epoch, s", Show::seconds},
                          {"efficiency", "efficiency, %", Show::percent}}};
  table.notes = {"What it means."};
  table.add({"a|b", 13.6, 0.84});
  table.add({"with \"quotes\", and comma", Cell(), std::numeric_limits<double>::quiet_NaN()});
  return table;
}

}  // namespace

TEST_CASE("findings have speedup, efficiency, loss and the effect of whole seconds", "[study]") {
  const std::string text = text_of(book_like());
  for (const char* sentence :
       {"4 ranks take 5.380 s for an epoch where 1 rank takes 13.600 s: speedup 2.53, efficiency "
        "63.2 %",
        "would show 14 s and 5 s, hence 70.0 % (anything from 61.4 % to 80.6 %) instead of 63.2 %: "
        "the log would leave open whether it is below 80.0 %.",
        "4 ranks lose 1.980 s an epoch. The cause is the exposed all-reduce 1.980 s (100.0 "
        "%)."}) {
    CHECK_THAT(text, Contains(sentence));
  }
}

TEST_CASE("findings say what --balance speed would bring, from 5 % on", "[study][balance]") {
  Study study = study_of(runs_of({{1, 10}, {2, 6}}));
  RunResult& run = study.runs[1];
  run.global_batch = 1000;
  run.rank_batches = {500, 500};
  // Ten steps of 500 images; the update takes 10 ms of each.
  const auto text = [&](double slow_ms) {
    std::vector<RankFigures>& ranks = run.epochs.back().of_ranks;
    run.epochs.back().steps = 10;
    ranks.assign(2, {});
    for (std::size_t rank = 0; rank < 2; ++rank) {
      const double step = (rank == 0 ? 500.0 : slow_ms) / 1e3;
      ranks[rank].samples = 5000;
      ranks[rank].phases[std::size_t(Phase::forward)] = 10 * step / 4;
      ranks[rank].phases[std::size_t(Phase::backward)] = 10 * step * 3 / 4;
      ranks[rank].phases[std::size_t(Phase::optimizer)] = 10 * 0.01;
      ranks[rank].phases[kAllReduce] = 3;  // waiting says nothing of speed
    }
    return text_of(study);
  };
  CHECK_THAT(text(1000), Contains("the slowest of 2 computes a step in 1010.0 ms. With --balance "
                                  "speed all would be ready after about 677.0 ms (33.0 % less), "
                                  "with 667, 333 images in place of 500, 500."));
  CHECK_THAT(text(560), Contains("--balance speed"));   // gains 5.2 %
  CHECK_THAT(text(550), !Contains("--balance speed"));  // 4.7 %
  CHECK_THAT(text(500), !Contains("--balance speed"));
  const std::string options_before = run.options["balance"];
  run.options["balance"] = "\"speed\"";
  CHECK_THAT(text(1000), !Contains("With --balance speed"));
  run.options["balance"] = options_before;
  run.epochs.back().rank_batches = {667, 333};  // the shares of that epoch, not of the run's end
  CHECK_THAT(text(1000), !Contains("With --balance speed"));
}

TEST_CASE("findings name the factor that costs most of the efficiency", "[study]") {
  Study study = book_like();
  study.runs[0].epochs[1].efficiency = {13.6, 13.6, 13.6, 13.6};
  const auto text = [&](const EfficiencySeconds& of_four_ranks) {
    study.runs[2].epochs[1].efficiency = of_four_ranks;
    return text_of(study);
  };
  CHECK_THAT(text({3.4, 3.5, 4.4, 5.38}),
             Contains("At 4 ranks 36.8 % of the global efficiency is lost, most by serialisation"));
  CHECK_THAT(text({3.4, 3.5, 4.1, 5.38}), Contains("most by transfer (0.76)."));
  CHECK_THAT(text({3.4, 5, 5, 5.38}), Contains("most by load balance (0.68)."));
  CHECK_THAT(text({5, 5, 5, 5.38}), Contains("most by computation scaling (0.68)."));
  CHECK_THAT(text({.seconds = 5.38}), !Contains("global efficiency"));
}

TEST_CASE("findings follow from the times", "[study]") {
  struct Case {
    std::vector<std::pair<std::size_t, double>> times;
    const char* sentence;
  };
  for (const auto& [times, sentence] :
       {Case{{{1, 1000.2}, {2, 501.3}}, "rounding would not have changed the conclusion"},
        Case{{{1, 10}, {2, 6.49}}, "changed the conclusion, as it is below 80.0 %"},
        Case{{{1, 10.45}, {2, 6.5}}, "as it is not below 80.0 %"},
        Case{{{1, 10.4}, {2, 5.2}}, "takes 0.000 s"},
        Case{{{1, 10.4}, {2, 5.0}}, "takes no time by subtraction"},
        Case{{{1, 0.8}, {2, 0.42}}, "would show 1 s and 0 s, and no efficiency could be computed"},
        Case{{{1, 10.4}, {2, 5.0}}, "finds nothing serial"},
        Case{{{1, 10}, {2, 11}}, "Amdahl's law does not fit"},
        Case{{{1, 10}, {2, 4.9}, {4, 3}}, "it goes from below 0 % to"},
        Case{{{1, 10}, {2, 8}}, "(weak scaling), from single runs."},
        // 10 / P + (P - 1) / 2, and 1 + 9 / P
        Case{{{1, 10}, {2, 5.5}, {4, 4}}, "overhead that grows with P"},
        Case{{{1, 10}, {2, 5.5}, {4, 3.25}}, "from 10.0 % to 10.0 %: no overhead that grows"}}) {
    CHECK_THAT(text_of(study_of(runs_of(times))), Contains(sentence));
  }
}

TEST_CASE("parts that make up for others are named", "[study]") {
  const std::string text =
      text_of(study_of({made_run({.ranks = 1, .epochs = {9, 10}, .phases = phases(9.8, 0)}),
                        made_run({.ranks = 2, .epochs = {9, 6.5}, .phases = phases(4, 2.2)})}));
  CHECK_THAT(text,
             Contains("The causes are the exposed all-reduce 2.200 s (91.7 %) and uneven ranks "
                      "and time between steps 0.200 s (8.3 %), of 2.400 s that took longer"));
  CHECK_THAT(text, Contains("Less than with ideal scaling took backward 0.900 s."));
}

TEST_CASE("a log in whole seconds is not compared with itself", "[study]") {
  const auto text = [](Estimate one, Estimate four) {
    std::vector<Observation> logged(2);
    logged[1].ranks = 4;
    for (Observation& seen : logged) {
      seen.rank_batch = 10;
      seen.global_batch = 10 * seen.ranks;
      seen.epoch = seen.ranks == 1 ? one : four;
    }
    std::string all;
    for (const Finding& f : findings({}, Evaluated(logged).figures, {})) all += f.text;
    return all;
  };
  CHECK_THAT(text(Estimate{14, 14 - 0.5, 14 + 0.5}, Estimate{5, 5 - 0.5, 5 + 0.5}),
             !Contains("whole seconds"));
  CHECK_THAT(text(Estimate{13.6, 13.6 - 0.0125, 13.6 + 0.0125},
                  Estimate{5.376, 5.376 - 0.0035, 5.376 + 0.0035}),
             Contains("hence 70.0 % (anything from 61.4 % to 80.6 %) instead of 63.2 %"));
}

TEST_CASE("epochs that scale worse than full steps are taken apart", "[study]") {
  // 100 images: 10 full steps on one rank, 3 of 30 and one of 10 on three.
  Study study = study_of(runs_of({{1, 1.0}, {3, 0.5}}));
  study.runs[1].summary.full_step.slowest.mean = 0.11;
  CHECK_THAT(text_of(study),
             Contains("full step alone scales to 100.0 % on 3 ranks, the epoch to 66.7 %. Of an "
                      "epoch, 0.0300 s go to steps that took longer than the median, and 0.170 s "
                      "to the partial last step (10 images, 0.0333 s by their number)"));
  study.runs[1].summary.full_step.slowest.mean = 0.09;  // quick steps: no negative seconds
  CHECK_THAT(text_of(study), !Contains("full step alone"));
  // Repeats that leave both open.
  study.runs.push_back(made_run({.ranks = 3, .epochs = {9, 0.33}, .step = 0.12}));
  CHECK_THAT(text_of(study), !Contains("full step alone"));
}

TEST_CASE("ranks are recommended by purpose", "[study]") {
  // Efficiencies 1, 0.9, 0.7, 0.3.
  const Study study = study_of(runs_of({{1, 72}, {2, 40}, {4, 72 / 2.8}, {8, 30}}));
  const Evaluated all(observe_all(study.runs));
  const auto ranks = [&](Purpose purpose, double efficiency = 0.8) {
    return sweet_spot(all.figures[0], purpose, efficiency)->point->ranks;
  };
  CHECK(ranks(Purpose::time) == 4);
  CHECK(ranks(Purpose::cost) == 1);
  CHECK(ranks(Purpose::knee) == 4);  // 2.8 x 0.7 > 1.8 x 0.9
  CHECK(ranks(Purpose::efficiency) == 2);
  CHECK(ranks(Purpose::efficiency, 0.95) == 1);
  CHECK_THAT(text_of(study, {.purposes = {Purpose::time}}),
             Contains("take 4 ranks for the shortest epoch."));
}

TEST_CASE("an oversubscribed point is neither recommended nor the widest", "[study]") {
  Study study = book_like();
  for (RankInfo& rank : study.runs[2].ranks) rank.cores = 0.5;
  const Evaluated all(observe_all(study.runs));
  CHECK(sweet_spot(all.figures[0], Purpose::time, 0.8)->point->ranks == 2);
  CHECK_THAT(text_of(study), Contains("2 ranks take 8.100 s") &&
                                 Contains("Some points ran more threads than there were cores"));
}

TEST_CASE("findings end with the doubts about a study", "[study]") {
  Study study = book_like();
  study.runs[0].epochs.resize(1);
  study.runs[1].ranks[0].threads = 2;
  study.runs[1].ranks[0].cores = 2;
  study.failed.push_back({"x/attempt.json", "net", 4, 512, 0, 2, "too large"});
  study.unreadable.push_back({"y/run.json", "y/run.json: no JSON from byte 7 on"});
  const std::string text = text_of(study);
  for (const char* doubt :
       {"no epoch but the first of a process, so their times include warm-up",
        "did not all have the same number of threads", "1 run ended without an epoch",
        "1 file could not be read", "single runs"}) {
    CHECK_THAT(text, Contains(doubt));
  }
}

TEST_CASE("a table in Markdown, as CSV and on a terminal", "[study]") {
  CHECK(to_markdown(sample()) ==
        "### A \\| title\n\n"
        "| name | epoch, s | efficiency, % |\n"
        "|---|---:|---:|\n"
        "| a\\|b | 13.600 | 84.0 |\n"
        "| with \"quotes\", and comma | - | - |\n"
        "\n- What it means.\n");
  CHECK(to_csv(sample()) ==  // every digit, quotes as RFC 4180 says
        "name,epoch_seconds,efficiency\r\n"
        "a|b,13.6,0.84\r\n"
        "\"with \"\"quotes\"\", and comma\",,\r\n");
  CHECK(to_text(sample()) ==
        "A | title\n"
        "  name                      epoch, s  efficiency, %\n"
        "  a|b                         13.600           84.0\n"
        "  with \"quotes\", and comma         -              -\n"
        "  - What it means.\n");
  Table foreign = sample();
  foreign.add({"=<b>[x](javascript:)", 1.0, 1.0});
  CHECK_THAT(to_markdown(foreign), Contains("| =\\<b>\\[x](javascript:) |"));
  CHECK_THAT(to_csv(foreign), Contains("\n'=<b>[x](javascript:),1,1"));
  Table table = sample();
  CHECK_THROWS_AS(table.add({"one"}), std::logic_error);
}

TEST_CASE("numbers are shown as their column says", "[study]") {
  struct Case {
    double number;
    Show show;
    const char* text;
  };
  for (const auto& [number, show, text] :
       {Case{1234567.0, Show::count, "1,234,567"}, Case{0.0123, Show::seconds, "0.0123"},
        Case{2e-7, Show::seconds, "0.000"}, Case{-2e-7, Show::seconds, "0.000"},
        Case{0.5439, Show::millis, "543.9"}, Case{0.00543, Show::millis, "5.43"},
        Case{2e-7, Show::millis, "0.000"}, Case{3571.4, Show::rate, "3,571"},
        Case{45.23, Show::rate, "45.2"}, Case{1.678, Show::ratio, "1.68"},
        Case{44.7e6, Show::bytes, "44.7 MB"}, Case{0.40123, Show::gigabytes, "0.401"}}) {
    CHECK(cell_text(number, show) == text);
  }
  CHECK(cell_text("", Show::text) == "-");
}
