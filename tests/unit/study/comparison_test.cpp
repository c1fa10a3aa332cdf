#include <catch2/catch.hpp>

#include "study/learning.hpp"
#include "tests/support/made_study.hpp"

using namespace rueda;
using Catch::Contains;
using test::cell;
using test::made_run;
using test::phases;

namespace {

RunResult run_of(const std::string& name, std::vector<double> epochs, double backward = 0.1,
                 double all_reduce = 0) {
  epochs.insert(epochs.begin(), 99);
  RunResult run = made_run({.epochs = std::move(epochs), .phases = phases(backward, all_reduce)});
  run.file = "runs/" + name + "/run.json";
  return run;
}

RunResult scored(const std::vector<double>& accuracies, std::size_t samples) {
  RunResult run = run_of("scored", {10, 10});
  for (std::size_t e = 0; e < accuracies.size(); ++e)
    run.epochs[e].test = Score{.loss = 1, .accuracy = accuracies[e], .samples = samples};
  return run;
}

std::string said(const RunResult& a, const RunResult& b) {
  std::string text;
  for (const std::string& sentence : compare(a, b).findings) text += sentence + "\n";
  return text;
}

std::string speed(const std::vector<double>& a, const std::vector<double>& b) {
  return said(run_of("one", a), run_of("two", b));
}

const Table& table_of(const Comparison& comparison, const std::string& id) {
  for (const Table& table : comparison.tables)
    if (table.id == id) return table;
  throw std::out_of_range(id);
}

}  // namespace

TEST_CASE("which of two runs is faster is said only where it is determined", "[study]") {
  // 100 images an epoch. 10 s against 10.4 s are 4 % apart, against 10.6 s they are 6 %.
  CHECK_THAT(speed({10}, {10.4}),
             Contains("A trains 10.0 images/s and B 9.62. Single runs that are "
                      "less than 5.0 % apart do not determine"));
  CHECK_THAT(speed({10}, {10.6}), Contains("A is 1.06 times as fast."));
  CHECK_THAT(speed({10.6}, {10}), Contains("B is 1.06 times as fast."));
  // Medians of 10 s and 11 s, with epochs of both between.
  CHECK_THAT(speed({10, 10, 10.9}, {10.8, 11, 11}), Contains("ranges over epochs overlap"));
  CHECK_THAT(speed({10, 10, 10.7}, {10.8, 11, 11}), Contains("A is 1.10 times as fast."));
  RunResult short_run = run_of("short", {});
  CHECK_THAT(said(short_run, run_of("two", {10})),
             Contains("The only epoch of A includes warm-up."));
}

TEST_CASE("times of a run that did not have its cores determine nothing", "[study]") {
  RunResult a = run_of("one", {10}), b = run_of("two", {20});
  for (const double share : {0.86, 0.84}) {
    b.epochs[1].of_ranks = {{}};
    b.epochs[1].of_ranks[0].core_share = share;
    const bool determined = share > 0.85;
    CHECK(determined == Contains("A is 2.00 times as fast").match(said(a, b)));
    CHECK(determined != Contains("less than 85 % of its cores").match(said(a, b)));
  }
}

TEST_CASE("the phase that makes the difference of two runs is named", "[study]") {
  // Ten steps an epoch.
  const auto step = [](double backward, double all_reduce) {
    return run_of("step", {10}, backward, all_reduce);
  };
  CHECK_THAT(
      said(step(1, 0), step(1, 0.2)),
      Contains("takes 100.0 ms in A and 120.0 ms in B. The largest part of the difference is "
               "exposed all-reduce: 0.000 ms in A, 20.0 ms in B."));
  CHECK_THAT(said(step(1, 0.2), step(0.8, 0.1)), Contains("difference is backward: 100.0 ms in A"));
  // 30 ms less of backward do not make a step longer.
  CHECK_THAT(said(step(1, 0), step(0.7, 0.5)), Contains("difference is exposed all-reduce: 0.000"));
  CHECK_THAT(said(step(1, 0), step(1, 0.04)),
             Contains("100.0 ms in A and 104.0 ms in B, which is less "
                      "than 5.0 % apart."));
  const Comparison both = compare(step(1, 0), step(1, 0.2));
  const Table& table = table_of(both, "comparison_steps");
  REQUIRE(table.rows.size() == 3);  // phases of no time are left out
  CHECK(cell(table, 2, "b_seconds").number() ==
        Approx(cell(table, 0, "b_seconds").number() + cell(table, 1, "b_seconds").number()));
  CHECK(cell(table, 2, "ratio").number() == Approx(1.2));
}

TEST_CASE("which of two runs learned better is said only where images suffice", "[study]") {
  // Two standard errors of 80 % and about as much: 3.6 points of 1,000 images, 0.36 of 100,000.
  CHECK_THAT(
      said(scored({0.5, 0.80}, 1000), scored({0.9, 0.82}, 1000)),
      Contains("After epoch 2, the last that both evaluated, test accuracy is 80.0 % in A and "
               "82.0 % in B: not more than the 3.5 points"));
  CHECK_THAT(said(scored({0.5, 0.80}, 100'000), scored({0.9, 0.82}, 100'000)),
             Contains("B is better by 2.0 points, more than the 0.4 points"));
  CHECK_THAT(said(scored({0.5, 0.80}, 1000), scored({0.9}, 1000)),
             Contains("After epoch 1, the last that both evaluated"));
  CHECK_THAT(said(scored({0.5}, 1000), scored({}, 1000)), !Contains("test accuracy"));
  RunResult one = scored({0.5, 0.8}, 1000), same = one;
  one.epochs[1].parameter_hash = same.epochs[1].parameter_hash = "0123456789abcdef";
  CHECK_THAT(said(one, same),
             Contains("After epoch 2 both have the same parameters, bit for bit."));
  same.epochs[1].parameter_hash = "1123456789abcdef";
  CHECK_THAT(said(one, same), Contains("not more than"));
}

TEST_CASE("settings of two runs are listed where they differ", "[study]") {
  RunResult a = run_of("one", {10}), b = run_of("two", {10});
  CHECK_THAT(said(a, b), Contains("A is runs/one, B is runs/two. No setting differs."));
  a.options = {{"wire", "\"fp32\""}, {"run-dir", "\"runs/one\""}, {"lr", "0.1"}};
  b.options = {{"wire", "\"bf16\""}, {"run-dir", "\"runs/two\""}, {"lr", "0.1"}};
  b.ranks[0].device = "CPU \x1b[31mB";
  CHECK_THAT(said(a, b), Contains("They differ in wire and processor."));
  const Comparison both = compare(a, b);
  const Table& table = table_of(both, "comparison_settings");
  CHECK(cell(table, 0, "b").text() == "bf16");
  CHECK(cell(table, 1, "b").text() == "CPU \\x1b[31mB");
  CHECK_THAT(comparison_text(both), Contains("  - wire: A fp32, B bf16\n"));
}

TEST_CASE("of many epochs some are drawn, evenly and with both ends", "[study]") {
  RunResult run = made_run({.epochs = std::vector<double>(10'000, 1.0)});
  for (std::size_t e = 0; e < run.epochs.size(); ++e) {
    run.epochs[e].train = {.loss = double(e), .accuracy = e == 9 ? NAN : 0.5};
    if (e % 100 == 99) run.epochs[e].test = Score{.loss = 1, .accuracy = 0.25};
  }
  const Learning learned = learning_of(run);
  CHECK(learned.epochs == 10'000);
  CHECK(learned.loss.known == 10'000);
  CHECK(learned.loss.epochs.size() == kMostCurvePoints);
  CHECK(learned.loss.epochs.front() == 1);
  CHECK(learned.loss.epochs.back() == 10'000);
  for (std::size_t i = 0; i < kMostCurvePoints; ++i)
    CHECK(learned.loss.values[i] == learned.loss.epochs[i] - 1);
  CHECK(learned.accuracy.known == 9'999);
  CHECK(learned.val_accuracy.epochs.size() == 100);
  CHECK(learned.val_accuracy.epochs.front() == 100);
}
