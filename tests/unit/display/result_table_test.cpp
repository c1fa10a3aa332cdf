#include "rueda/display/result_table.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/sample_run.hpp"

using namespace rueda;

namespace {

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> all;
  for (std::string word; in >> word;) all.push_back(word);
  return all;
}

std::string flat(const std::string& text) {
  std::string result;
  for (const std::string& word : words(text)) result += (result.empty() ? "" : " ") + word;
  return result;
}

/// The words of the line that begins with `name`.
std::vector<std::string> row(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto all = words(line);
    if (!all.empty() && all.front() == name) return all;
  }
  return {};
}

double number(const std::vector<std::string>& row, std::size_t column) {
  return std::stod(row.at(column));
}

}  // namespace

TEST_CASE("result table: epochs", "[result_table]") {
  const std::string text = result_table(test::sample_run());
  CHECK(row(text, "2") ==
        std::vector<std::string>{"2", "1.1500", "0.3000", "1.2000", "0.2800", "0.840", "352"});
}

TEST_CASE("result table: an epoch without evaluation", "[result_table]") {
  RunRecord run = test::sample_run();
  run.epochs[1].test.reset();
  CHECK(row(result_table(run), "2") ==
        std::vector<std::string>{"2", "1.1500", "0.3000", "-", "-", "0.840", "352"});
}

TEST_CASE("result table: the phases add up to the step", "[result_table]") {
  const std::string text = result_table(test::sample_run());
  CHECK_THAT(text, Catch::Contains("Time of a full step of 128 images (epochs 2-3, 4 steps)"));
  double milliseconds = 0;
  double shares = 0;
  for (const std::string_view name : kPhaseNames) {
    const auto phase = row(text, std::string(name));
    REQUIRE(phase.size() == 6);
    milliseconds += number(phase, 1);
    shares += number(phase, 4);
    CHECK(number(phase, 2) <= number(phase, 1));
    CHECK(number(phase, 1) <= number(phase, 3));
  }
  // Eight numbers, each rounded to its last shown digit.
  CHECK(milliseconds == Approx(number(row(text, "step"), 1)).margin(8 * 0.0005));
  CHECK(shares == Approx(100).margin(8 * 0.05));
  CHECK(number(row(text, "forward"), 2) == Approx(104.0));
  CHECK(number(row(text, "forward"), 3) == Approx(114.4));
}

TEST_CASE("result table: totals, target, files", "[result_table]") {
  RunRecord run = test::sample_run();
  run.config.target_accuracy = 0.4;
  run.seconds_to_target = 2.51;
  const std::string text = flat(result_table(run));
  CHECK_THAT(text,
             Catch::Contains("outcome completed start-up 0.887 s training 2.800 s in 3 epochs "
                             "steady epoch 0.850 s, 348 images/s (174 per rank) evaluation "
                             "0.630 s all together 4.500 s target val_accuracy 0.4 after "
                             "2.510 s"));
  CHECK_THAT(text, Catch::Contains("parameter hash 0123456789abcde3"));
  CHECK_THAT(text, Catch::Contains("runs/sample/run.json runs/sample/steps.csv"));
  run.seconds_to_target.reset();
  CHECK_THAT(flat(result_table(run)), Catch::Contains("val_accuracy 0.4 not reached"));
}

TEST_CASE("result table: the all-reduce and its bandwidth", "[result_table]") {
  RunRecord run = test::sample_run(4, 4);
  run.gradient_bytes = 45'000'000;
  const std::string text = flat(result_table(run));
  CHECK_THAT(text, Catch::Contains("45.0 MB per step; busy "));
  CHECK_THAT(text, Catch::Contains("algbw 1 GB/s, busbw 1.5 GB/s"));
  CHECK_THAT(result_table(test::sample_run(1, 1)), !Catch::Contains("algbw 0"));
}

TEST_CASE("result table: a faster all-reduce where the steps wait long", "[result_table]") {
  RunRecord run = test::sample_run();
  run.auto_all_reduce = "shared";
  CHECK_THAT(result_table(run), !Catch::Contains("advice"));  // 9.7 % of a step
  for (EpochRecord& epoch : run.epochs) {
    for (auto& rank : epoch.step_records) {
      for (StepRecord& s : rank) s.phases[static_cast<std::size_t>(Phase::all_reduce)] *= 2;
    }
  }
  CHECK_THAT(flat(result_table(run)),
             Catch::Contains("% of a step: --all-reduce auto takes shared here"));
  run.auto_all_reduce.clear();
  CHECK_THAT(result_table(run), !Catch::Contains("advice"));
}

TEST_CASE("result table: the input and its work", "[result_table]") {
  RunRecord run = test::sample_run();
  CHECK_THAT(flat(result_table(run)),
             Catch::Contains("input resident: the device makes each batch all-reduce"));
  run.config.input = InputMode::stream;
  CHECK_THAT(flat(result_table(run)),
             Catch::Contains("input stream: batches prepared by 2 host threads of each rank; per "
                             "step preparing 8.400 ms of all workers together, copying 3.20 MB in "
                             "2.100 ms (1.52 GB/s) all-reduce"));
  for (EpochRecord& epoch : run.epochs) {
    for (auto& rank : epoch.step_records) {
      for (StepRecord& s : rank) s.copy_bytes = 0;
    }
  }
  CHECK_THAT(flat(result_table(run)),
             Catch::Contains("preparing 8.400 ms of all workers together all-reduce"));
  run.epochs.clear();
  CHECK_THAT(flat(result_table(run)), Catch::Contains("2 host threads of each rank"));
}

TEST_CASE("result table: one epoch includes warm-up and says so", "[result_table]") {
  RunRecord run = test::sample_run();
  run.epochs.resize(1);
  const std::string text = flat(result_table(run));
  CHECK_THAT(text, Catch::Contains("(epoch 1, includes warm-up, 2 steps)"));
  CHECK_THAT(text, Catch::Contains("(135 per rank), includes warm-up"));
}

TEST_CASE("result table: only partial steps", "[result_table]") {
  RunRecord run = test::sample_run();
  run.global_batch = 1000;
  CHECK_THAT(result_table(run), Catch::Contains("Time of a partial step (epochs 2-3, 6 steps)"));
}

TEST_CASE("result table: a run that failed before its first epoch", "[result_table]") {
  RunRecord run = test::sample_run();
  run.epochs.clear();
  run.outcome = "failed";
  run.failure = "step 7: the loss is nan on rank 1";
  const std::string text = result_table(run);
  CHECK_THAT(text, Catch::StartsWith("No epoch finished.\n"));
  CHECK_THAT(text, Catch::Contains("failed: step 7: the loss is nan on rank 1"));
  CHECK_THAT(text, !Catch::Contains("Time of"));
}

TEST_CASE("result table: fits 80 columns", "[result_table]") {
  RunRecord run = test::sample_run();
  run.failure = "a message that is long enough to need a second line when the page has 80 columns";
  std::istringstream lines(result_table(run));
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= 80);
    CHECK((line.empty() || line.back() != ' '));
  }
}

TEST_CASE("result table: a run that computed nothing says so first", "[result_table]") {
  RunRecord run = test::sample_run();
  CHECK_THAT(result_table(run), Catch::StartsWith("Epochs"));
  run.timed = TimedCompute{0.25, 64, 0, ""};
  run.epochs.front().train.loss = std::nan("");
  CHECK_THAT(
      flat(result_table(run)),
      Catch::StartsWith("NOTHING IS COMPUTED (--backend timed): each rank waits 250 ms for"));
  CHECK(row(result_table(run), "1").at(1) == "-");
}
