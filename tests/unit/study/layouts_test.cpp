#include <algorithm>
#include <cmath>
#include <string>

#include <catch2/catch.hpp>

#include "study/observation.hpp"
#include "tests/support/made_study.hpp"

using namespace rueda;
using Catch::Contains;
using test::cell;
using test::Evaluated;
using test::made_run;

namespace {

using Ids = std::vector<std::string>;

std::vector<Table> layout(const std::string& name, const std::vector<Observation>& observations) {
  return layout_tables(name, Evaluated(observations).figures, observations);
}

std::vector<Table> book(const std::vector<Observation>& observations) {
  return layout("book", observations);
}

std::vector<Table> nyu(const std::vector<Observation>& observations) {
  return layout("nyu", observations);
}

Ids ids(const std::vector<Table>& tables) {
  Ids ids;
  for (const Table& table : tables) ids.push_back(table.id);
  return ids;
}

/// The first table whose id begins so and whose title has `word`.
const Table& find(const std::vector<Table>& tables, const std::string& id,
                  const std::string& word = "") {
  const auto found = std::ranges::find_if(tables, [&](const Table& table) {
    return table.id.starts_with(id) && table.title.find(word) != table.title.npos;
  });
  REQUIRE(found != tables.end());
  return *found;
}

/// Numbers of a table by the number of ranks and the column.
struct Expected {
  double ranks;
  const char* key;
  double value;
};

void check(const Table& table, const std::vector<Expected>& all) {
  for (const auto& [ranks, key, value] : all) {
    INFO(table.title << " " << key << " on " << ranks);
    CHECK(test::number_at(table, ranks, key) == Approx(value).epsilon(1e-6));
  }
}

/// Shares in percent, rounded to one decimal as people quote them.
void check_percents(const Table& table, const std::vector<Expected>& all) {
  for (const auto& [ranks, key, value] : all) {
    INFO(table.title << " " << key << " on " << ranks);
    CHECK(std::round(test::number_at(table, ranks, key) * 1000) / 10 == value);
  }
}

std::string all_notes(const Table& table) {
  std::string text;
  for (const std::string& note : table.notes) text += note + "\n";
  return text;
}

Observation observation(std::size_t ranks, std::size_t rank_batch, double seconds) {
  Observation seen;
  seen.source = "log f";
  seen.model = "resnet18";
  seen.processor = Processor::gpu;
  seen.ranks = ranks;
  seen.rank_batch = rank_batch;
  seen.global_batch = rank_batch * ranks;
  seen.images = 50000;
  seen.steps = std::size_t(std::ceil(50000.0 / double(seen.global_batch)));
  seen.epoch = exactly(seconds);
  return seen;
}

/// A run that loads `load` s of each epoch, and all-reduces 10^8 bytes in 0.1 s in each of its
/// steps, of which a half is exposed.
RunResult run(std::size_t ranks, std::size_t images, double seconds, double load) {
  RunResult result = made_run(
      {.model = "resnet18", .ranks = ranks, .images = images, .epochs = {seconds, seconds}});
  for (EpochFigures& epoch : result.epochs) epoch.phases[std::size_t(Phase::load)].mean = load;
  auto& c = result.summary.all_steps;
  c.bytes = 1e8;
  c.mean.busy.mean = 0.1;
  c.mean.phases[kAllReduce].mean = 0.05;
  c.busbw = 2.5;
  for (EpochFigures& epoch : result.epochs) epoch.all_steps = result.summary.all_steps;
  return result;
}

}  // namespace

TEST_CASE("the book's tables 10.1 and 10.2", "[layouts]") {
  const auto tables = book(published("book"));
  const Table& small = find(tables, "book_task_10_5", "2026");
  CHECK(small.columns[0].heading == "GPUs");
  CHECK(small.columns[1].heading == "Time (s)");
  // 25 x 544, 13 x 623 and 7 x 768 ms
  check(small, {{1, "epoch_s", 13.600},
                {2, "epoch_s", 8.099},
                {4, "epoch_s", 5.376},
                {4, "images_per_second", 50000 / 5.376},
                {4, "speedup", 13.6 / 5.376},
                {1, "printed_epoch_s", 14},
                {4, "printed_speedup", 2.8},
                {4, "last_step_images", 848}});  // 50,000 - 6 x 8192
  check_percents(small, {{2, "efficiency", 84.0},
                         {4, "efficiency", 63.2},
                         {2, "printed_efficiency", 87.5},
                         {4, "printed_efficiency", 70.0},
                         {4, "printed_efficiency_low", 61.4},
                         {4, "printed_efficiency_high", 80.6}});
  const Table& large = find(tables, "book_task_10_6", "resnet152v2");
  // 49 x 668, 25 x 718 and 13 x 773 ms
  check_percents(large, {{2, "efficiency", 91.2},
                         {4, "efficiency", 81.4},
                         {2, "printed_efficiency", 91.7},
                         {4, "printed_efficiency", 82.5}});
  CHECK_THAT(all_notes(large), Contains("T(1) / T(P)") && Contains("1,024 images per step"));
}

TEST_CASE("two processors have rows of their own", "[layouts]") {
  RunResult one = made_run({}), other = made_run({});
  other.ranks[0].device = "CPU B";
  const std::vector<RunResult> runs = {one, other};
  const auto tables = book(observe_all(runs));
  const Table& baseline = find(tables, "book_task_10_3");
  REQUIRE(baseline.rows.size() == 2);
  CHECK(cell(baseline, 0, "variant").text() == "processor CPU A");
  CHECK(cell(baseline, 1, "variant").text() == "processor CPU B");
}

TEST_CASE("the book's baseline, acceleration and comparison", "[layouts]") {
  const auto tables = book(published("book"));
  const Table& baseline = find(tables, "book_task_10_3");
  REQUIRE(baseline.rows.size() == 1);
  CHECK(cell(baseline, 0, "epoch_s").number() == 215);
  CHECK(cell(baseline, 0, "images_per_second").number() == Approx(50000.0 / 215));

  const Table& pairs = find(tables, "book_task_10_4", "Task 10.4: acceleration");
  const auto row =
      std::size_t(std::ranges::find_if(pairs.rows,
                                       [](const auto& cells) {
                                         return cells[3].text().starts_with("CPU") &&
                                                cells[4].text() == "GPU (Torres 2026, ch. 10)";
                                       }) -
                  pairs.rows.begin());
  // 220 s / (196 x 121 ms) and 215 s / (196 x 73 ms); 215 / 14 = 15.36, from 214.5 / 14.5 = 14.79
  // to 215.5 / 13.5 = 15.96
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, double>>{{"first_ratio", 220 / 23.716},
                                                   {"steady_ratio", 215 / 14.308},
                                                   {"steady_ratio_low", 214.5 / (196 * 0.0735)},
                                                   {"steady_ratio_high", 215.5 / (196 * 0.0725)},
                                                   {"printed_ratio", 215.0 / 14},
                                                   {"printed_ratio_low", 214.5 / 14.5},
                                                   {"printed_ratio_high", 215.5 / 13.5}}) {
    CHECK(cell(pairs, row, key).number() == Approx(value));
  }
  CHECK_THAT(pairs.notes.back(), Contains("220 s / 24 s") && Contains("15.4"));

  const Table& time = find(tables, "book_task_10_7_epoch_time");
  REQUIRE(time.columns.size() == 4);  // P and three series
  REQUIRE(time.rows.size() == 3);
  const auto large = std::ranges::find_if(time.columns, [](const Column& column) {
    return column.heading.find("resnet152v2") != std::string::npos;
  });
  CHECK(cell(time, 0, large->key).number() == Approx(32.732));
  CHECK(find(tables, "book_task_10_7_throughput").rows.size() == 3);
  CHECK(find(tables, "book_task_10_7_speedup").columns[1].show == Show::ratio);
  CHECK(find(tables, "book_task_10_7_efficiency").columns[1].show == Show::percent);
}

TEST_CASE("a study without the book's models has the book's tables, too", "[layouts]") {
  auto points = std::vector{observation(1, 64, 8), observation(2, 64, 5)};
  CHECK(ids(book(points)) == Ids{"book_task_10_5_s1"});
  points[1].oversubscribed = true;
  const Table table = book(points).front();
  CHECK(table.rows[1].back().text() == "more threads than cores");
  CHECK(std::ranges::none_of(table.columns,
                             [](const auto& c) { return c.key.starts_with("printed"); }));
  points.push_back(observation(4, 64, 3));
  points.back().model = "resnet20";
  CHECK(ids(book(points)) == Ids{"book_task_10_5_s1"});
  points.push_back(points.back());
  points.back().ranks = 1;
  points.back().global_batch = 64;
  CHECK(ids(book(points)) == Ids{"book_task_10_5_s1", "book_task_10_6_s2",
                                 "book_task_10_7_epoch_time", "book_task_10_7_throughput",
                                 "book_task_10_7_speedup", "book_task_10_7_efficiency"});
  CHECK(book({}).empty());
  CHECK(nyu({}).empty());
}

namespace {

/// A model on 1 and 2 GPUs, 64 images on each.
void add_series(std::vector<Observation>& all, const std::string& model, double seconds) {
  for (const std::size_t ranks : {1, 2}) {
    all.push_back(observation(ranks, 64, seconds / double(ranks)));
    all.back().model = model;
  }
}

Texts titles_with(const std::vector<Table>& tables, const std::string& beginning) {
  Texts titles;
  for (const Table& table : tables)
    if (table.title.starts_with(beginning)) titles.push_back(table.title);
  return titles;
}

}  // namespace

TEST_CASE("each course has its own numbers for the same tables", "[layouts]") {
  std::vector<Observation> seen;
  add_series(seen, "resnet50v2", 10);
  add_series(seen, "resnet101v2", 15);
  add_series(seen, "resnet152v2", 20);
  seen.push_back(observation(1, 64, 200));
  seen.back().model = "resnet50v2";
  seen.back().processor = Processor::cpu;
  CHECK(ids(layout("lab5", seen)) == Ids{"lab5_task_2", "lab5_task_3", "lab5_task_6_s1",
                                         "lab5_task_7_s2", "lab5_task_7_s3",
                                         "lab5_task_8_epoch_time", "lab5_task_8_throughput",
                                         "lab5_task_8_speedup", "lab5_task_8_efficiency"});
  const auto tables = layout("sa-miri", seen);
  CHECK(ids(tables) == Ids{"sa_miri_task_10_3", "sa_miri_task_10_4", "sa_miri_task_10_6_s1",
                           "sa_miri_task_10_7_s3", "sa_miri_task_10_8_epoch_time",
                           "sa_miri_task_10_8_throughput", "sa_miri_task_10_8_speedup",
                           "sa_miri_task_10_8_efficiency", "sa_miri_task_10_9_s2",
                           "sa_miri_task_10_9_epoch_time", "sa_miri_task_10_9_throughput",
                           "sa_miri_task_10_9_speedup", "sa_miri_task_10_9_efficiency",
                           "sa_miri_task_10_10", "sa_miri_task_10_11"});
  // ResNet101V2 is the third network in task 10.9 and those after it only.
  CHECK(find(tables, "sa_miri_task_10_8_speedup").columns.size() == 3);
  CHECK(find(tables, "sa_miri_task_10_9_speedup").columns.size() == 4);
  CHECK_THAT(find(tables, "sa_miri_task_10_9_s2").title, Contains("Task 10.9: resnet101v2"));
  CHECK(find(tables, "sa_miri_task_10_10").rows.size() == 2);
  const Table& laws = find(tables, "sa_miri_task_10_11");
  REQUIRE(laws.rows.size() == 1);
  CHECK(cell(laws, 0, "speedup").number() == Approx(2));
  CHECK(cell(laws, 0, "karp_flatt").number() == Approx(0).margin(1e-12));
  CHECK(titles_with(book(seen), "Task 10.6: ").size() == 2);
}

TEST_CASE("the speedup that Amdahl's law gives for a fit", "[layouts]") {
  // T(P) = 10 (0.2 + 0.8 / P): the fit finds s = 0.2, so that the law's speedups are the measured
  // ones.
  std::vector<Observation> seen;
  for (const double ranks : {1.0, 2.0, 4.0})
    seen.push_back(observation(std::size_t(ranks), 64, 10 * (0.2 + 0.8 / ranks)));
  const Table laws = layout("sa-miri", seen).back();
  CHECK(laws.id == "sa_miri_task_10_10");
  check(laws, {{2, "amdahl", 0.2}, {2, "amdahl_speedup", 1 / 0.6}, {4, "amdahl_speedup", 2.5}});
  check(laws, {{4, "speedup", 2.5}, {4, "amdahl_limit", 5}, {4, "karp_flatt", 0.2}});
  // A fit far below 0 leaves no time on many ranks, hence no speedup.
  seen.resize(1);
  seen.push_back(observation(2, 64, 1));
  seen.push_back(observation(4, 64, 0.1));
  const Table none = layout("sa-miri", seen).back();
  CHECK(std::isnan(test::number_at(none, 4, "amdahl_speedup")));
}

TEST_CASE("the lab's questions about one device and about the fifth epoch", "[layouts]") {
  std::vector<RunResult> runs = {run(1, 160, 10, 1), run(4, 160, 3, 0.25)};
  const auto two_epochs = nyu(observe_all(runs));
  const Table& first = two_epochs.front();
  CHECK(first.id == "nyu_question_1");
  REQUIRE(first.rows.size() == 1);
  check(first, {{1, "unloaded_s", 9}, {1, "loading_s", 1}, {1, "time_s", 10}});
  CHECK(std::ranges::none_of(two_epochs, [](const Table& t) { return t.id == "nyu_question_4"; }));
  for (RunResult& each : runs) {
    each.epochs.resize(6, each.epochs.back());
    for (std::size_t i = 0; i < each.epochs.size(); ++i) {
      each.epochs[i].epoch = i + 1;
      each.epochs[i].train.loss = 2 - 0.1 * double(i + each.ranks.size());
      each.epochs[i].train.accuracy = 0.1 * double(i);
    }
  }
  const auto tables = nyu(observe_all(runs));
  const Table& fifth = find(tables, "nyu_question_4", "Question 4.1: ");
  REQUIRE(fifth.rows.size() == 2);
  check(fifth, {{1, "train_loss", 1.5}, {4, "train_loss", 1.2}, {4, "train_accuracy", 0.4}});
  check(fifth, {{4, "rank_batch", 10}, {4, "global_batch", 40}});
}

TEST_CASE("the homework's tables from the published answer", "[layouts]") {
  const auto all = nyu(published("nyu"));
  // Question 1 comes first. The batches grow fourfold, so 1 and 4 GPUs also make weak series.
  CHECK_THAT(all[1].title, Contains("Question 2, table 1: ") && Contains("weak scaling"));
  const std::vector<Table> tables(all.begin() + 5, all.end());
  CHECK(ids(tables) ==
        Ids{"nyu_table_1_g2", "nyu_table_2_g2", "nyu_table_3_g2", "nyu_communication_g2"});
  CHECK(tables[0].columns[1].heading == "Batch 32 global: time (sec)");
  CHECK(tables[0].rows.size() == 3);
  CHECK(tables[1].rows.size() == 2);
  check(tables[0], {{2, "batch_512_time_s", 11.35}, {4, "batch_512_speedup", 18.57 / 9.88}});
  // Those that the answer itself prints: its table 2.
  check(tables[1], {{2, "batch_32_compute_s", 11.72},
                    {2, "batch_32_comm_s", 48.45},
                    {4, "batch_32_comm_s", 64.47},
                    {4, "batch_128_comm_s", 15.6475},
                    {2, "batch_512_comm_s", 2.065},
                    {4, "batch_512_comm_s", 5.2375}});
  // 2 x 3/4 x 4 x 11,173,962 bytes x 1,563 steps / 64.47 s
  check(tables[2], {{4, "batch_32_bandwidth_GBps", 1.5 * 44'695'848 * 1563 / 64.47 / 1e9}});
  CHECK_THAT(all_notes(tables[1]), Contains("T(P) - C / P") && Contains("C = T(1)"));
  CHECK_THAT(all_notes(tables[2]), Contains("11,173,962 parameters") && Contains("2 (P-1)/P") &&
                                       Contains("8,192 x 4: 7"));
}

TEST_CASE("a public answer that ran per GPU: 66.3 s of communication, 0.40 GB/s", "[layouts]") {
  // 32 images per GPU: 96.315 s on one, 90.334 s on four, 391 steps of 128
  const auto tables = nyu({observation(1, 32, 96.315), observation(4, 32, 90.334)});
  CHECK(tables[1].columns[1].heading == "Batch 32 per GPU: time (sec)");
  check(tables[2], {{4, "batch_32_compute_s", 24.07875}, {4, "batch_32_comm_s", 66.25525}});
  check(tables[3], {{4, "batch_32_bandwidth_GBps", 1.5 * 44'695'848 * 391 / 66.25525 / 1e9}});
  check(tables[4], {{4, "steps", 391}});
}

TEST_CASE("measured figures are next to inferred ones", "[layouts]") {
  std::vector<RunResult> runs = {run(1, 160, 10, 1), run(2, 160, 6, 0.25)};
  for (RunResult& one : runs) one.parameters = 11'220'132;  // of 100 classes
  const auto tables = nyu(observe_all(runs));
  CHECK_THAT(all_notes(tables[3]), Contains("N: 11,220,132 parameters of "));
  check(find(tables, "nyu_communication"), {{2, "one_rank_s", 10},
                                            {2, "loading_s", 1},
                                            {2, "compute_s", 4.5},   // (10 - 1) / 2
                                            {2, "inferred_s", 1.5},  // 6 - 4.5
                                            {2, "measured_s", 0.8},
                                            {2, "exposed_s", 0.4},
                                            {2, "gradient_bytes", 1e8},
                                            {2, "bandwidth_GBps", 8e8 / 1.5 / 1e9},
                                            {2, "busbw_GBps", 2.5}});
  CHECK_THAT(all_notes(tables[2]), !Contains("C = T(1)"));
}

TEST_CASE("hand-ins mark shared cores and single runs, which have no range", "[layouts]") {
  std::vector<RunResult> runs = {run(1, 160, 10, 1), run(2, 160, 6, 0.25), run(2, 160, 6.5, 0.25)};
  for (RunResult& one : runs) one.all_reduce = "shared";
  for (std::size_t i : {1, 2}) runs[i].ranks[0].cores = 0.5;
  const auto tables = nyu(observe_all(runs));
  for (const Table& table : tables) {
    if (table.id == "nyu_question_1") continue;
    CHECK(cell(table, table.rows.size() - 1, "marks").text() == "more threads than cores");
    CHECK_THAT(table.title, Contains(", shared"));
  }
  CHECK(cell(tables[1], 0, "marks").text() == "single run");
  // 6 - 0.25 of the faster run; 10 / 6, and by the homework's other definition twice that
  check(tables[1], {{1, "batch_10_unloaded_s", 9},
                    {2, "batch_10_unloaded_s", 5.75},
                    {2, "batch_10_speedup", 10.0 / 6},
                    {2, "batch_10_scaled_speedup", 20.0 / 6}});
  CHECK_THAT(all_notes(tables[3]), Contains("44,695,848 bytes") && Contains("use no link"));
  runs.pop_back();
  const auto single = observe_all(runs);
  const Table task = find(book(single), "book_task_10_5");
  CHECK_THAT(task.rows[1].back().text(), Contains("more threads than cores, single run"));
  for (const char* bound : {"efficiency_low", "efficiency_high"})
    CHECK_FALSE(cell(task, 1, bound).is_number());
  CHECK(nyu({observation(1, 64, 10), observation(2, 64, 4)})[1].columns.back().key != "marks");
}

TEST_CASE("the homework's tables where runs are missing", "[layouts]") {
  // Communication below 0 has no bandwidth.
  auto tables = nyu({observation(1, 64, 10), observation(2, 64, 4)});
  check(tables[2], {{2, "batch_64_comm_s", -1}});
  CHECK(std::isnan(test::number_at(tables[3], 2, "batch_64_bandwidth_GBps")));
  // Without a run on one rank nothing is inferred.
  tables = nyu({observation(2, 64, 4), observation(4, 64, 3)});
  CHECK(std::isnan(test::number_at(tables[1], 4, "batch_64_comm_s")));
  CHECK_THAT(all_notes(tables[0]), Contains("No run on one rank"));
  // Batches that were not run on all ranks leave gaps.
  tables = nyu({observation(1, 64, 10), observation(2, 64, 6), observation(1, 128, 9),
                observation(4, 128, 3)});
  CHECK(tables[1].rows.size() == 3);
  CHECK(std::isnan(test::number_at(tables[1], 4, "batch_64_time_s")));
  check(tables[1], {{4, "batch_128_speedup", 3}});
  // An unknown network has no gradient of a known size.
  auto unknown = std::vector{observation(1, 64, 10), observation(2, 64, 6)};
  for (Observation& seen : unknown) seen.model = "alexnet";
  CHECK(std::isnan(test::number_at(nyu(unknown)[4], 2, "gradient_bytes")));
}
