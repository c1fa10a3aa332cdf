#include "rueda/study/layouts.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <catch2/catch.hpp>

#include "rueda/study/published.hpp"
#include "study/layouts/nyu_figures.hpp"

using Catch::Matchers::Contains;
using rueda::Observation;
using rueda::Table;

namespace {

std::vector<Table> book(const std::vector<Observation>& observations) {
  const auto series = rueda::make_series(observations);
  return rueda::book_layout(rueda::evaluate(series), observations);
}

std::vector<Table> nyu(const std::vector<Observation>& observations) {
  const auto series = rueda::make_series(observations);
  return rueda::nyu_layout(rueda::evaluate(series));
}

std::vector<std::string> ids(const std::vector<Table>& tables) {
  std::vector<std::string> ids;
  for (const Table& table : tables) ids.push_back(table.id);
  return ids;
}

/// The first table whose id begins so and whose title holds `word`.
const Table& find(const std::vector<Table>& tables, const std::string& id,
                  const std::string& word = "") {
  const auto found = std::ranges::find_if(tables, [&](const Table& table) {
    return table.id.starts_with(id) && table.title.find(word) != table.title.npos;
  });
  REQUIRE(found != tables.end());
  return *found;
}

/// A number by its column and the number of ranks (and the batch, if there is such a column).
double cell(const Table& table, double ranks, const std::string& key, double batch = 0) {
  const auto column = [&](const std::string& name) {
    return std::size_t(std::ranges::find(table.columns, name, &rueda::Column::key) -
                       table.columns.begin());
  };
  const auto row = std::ranges::find_if(table.rows, [&](const auto& cells) {
    return cells.at(column("ranks")).number() == ranks &&
           (batch == 0 || cells.at(column("batch")).number() == batch);
  });
  REQUIRE(row != table.rows.end());
  return row->at(column(key)).number();
}

double percent(double share) { return std::round(share * 1000) / 10; }

std::string all_notes(const Table& table) {
  std::string text;
  for (const std::string& note : table.notes) text += note + "\n";
  return text;
}

Observation observation(std::size_t ranks, std::size_t rank_batch, double seconds) {
  Observation seen;
  seen.source = "log f";
  seen.model = "resnet18";
  seen.processor = rueda::Processor::gpu;
  seen.ranks = ranks;
  seen.rank_batch = rank_batch;
  seen.global_batch = rank_batch * ranks;
  seen.images = 50000;
  seen.steps = std::size_t(std::ceil(50000.0 / double(seen.global_batch)));
  seen.epoch = rueda::exactly(seconds);
  return seen;
}

/// A run of rueda with two epochs, which loads `load` s of each, and all-reduces 10^8 bytes in
/// 0.1 s in each of its 8 steps, of which a half is exposed.
rueda::RunResult run(std::size_t ranks, double seconds, double load) {
  rueda::RunResult result;
  result.model = "resnet18";
  result.image_size = 32;
  result.global_batch = 128 * ranks;
  result.rank_batches.assign(ranks, 128);
  result.hosts = {"a"};
  for (std::size_t r = 0; r < ranks; ++r) {
    result.ranks.push_back({.rank = r, .host = "a", .backend = "cpu", .device = ""});
  }
  for (std::size_t e = 1; e <= 2; ++e) {
    rueda::EpochResult epoch;
    epoch.epoch = e;
    epoch.steps = 8;
    epoch.images = 1000;
    epoch.seconds = seconds;
    epoch.phases[std::size_t(rueda::Phase::load)] = {load, load, load};
    result.epochs.push_back(epoch);
  }
  auto& c = result.steady_communication;
  c.bytes = 1e8;
  c.busy = {0.1, 0.1, 0.1};
  c.exposed = {0.05, 0.05, 0.05};
  c.busbw = 2.5;
  return result;
}

}  // namespace

TEST_CASE("the book's tables 10.1 and 10.2", "[layouts]") {
  const auto tables = book(rueda::published("book"));
  const Table& small = find(tables, "book_task_10_5", "2026");
  CHECK(small.columns[0].heading == "GPUs");
  CHECK(small.columns[1].heading == "Time (s)");
  CHECK(cell(small, 4, "epoch_s") == Approx(5.376));
  CHECK(cell(small, 4, "images_per_second") == Approx(50000 / 5.376));
  CHECK(cell(small, 4, "speedup") == Approx(13.6 / 5.376));
  CHECK(percent(cell(small, 2, "efficiency")) == 84.0);
  CHECK(percent(cell(small, 4, "efficiency")) == 63.2);
  CHECK(cell(small, 1, "printed_epoch_s") == 14);
  CHECK(cell(small, 4, "printed_speedup") == Approx(2.8));
  CHECK(percent(cell(small, 2, "printed_efficiency")) == 87.5);
  CHECK(percent(cell(small, 4, "printed_efficiency")) == 70.0);
  CHECK(percent(cell(small, 4, "printed_efficiency_low")) == 61.4);
  CHECK(percent(cell(small, 4, "printed_efficiency_high")) == 80.6);
  CHECK(cell(small, 4, "last_step_images") == 848);  // 50,000 - 6 x 8192
  const Table& large = find(tables, "book_task_10_6", "resnet152v2");
  CHECK(percent(cell(large, 2, "efficiency")) == 91.2);
  CHECK(percent(cell(large, 4, "efficiency")) == 81.4);
  CHECK(percent(cell(large, 4, "printed_efficiency")) == 82.5);
  CHECK_THAT(all_notes(large), Contains("T(1) / T(P)") && Contains("1,024 images per step"));
}

TEST_CASE("the book's baseline, acceleration and comparison", "[layouts]") {
  const auto tables = book(rueda::published("book"));
  const Table& baseline = find(tables, "book_task_10_3");
  REQUIRE(baseline.rows.size() == 1);
  CHECK(baseline.rows[0][4].number() == 215);
  CHECK(baseline.rows[0][5].number() == Approx(50000.0 / 215));
  CHECK_THAT(find(tables, "book_task_10_4").title, Contains("Task 10.4: acceleration"));
  const Table& time = find(tables, "book_task_10_7_epoch_time");
  REQUIRE(time.columns.size() == 4);  // P and three series
  REQUIRE(time.rows.size() == 3);
  for (std::size_t i = 1; i < time.columns.size(); ++i) {
    const bool large = time.columns[i].heading.find("resnet152v2") != std::string::npos;
    if (large) CHECK(time.rows[0][i].number() == Approx(32.732));
  }
  CHECK(find(tables, "book_task_10_7_throughput").rows.size() == 3);
  CHECK(find(tables, "book_task_10_7_speedup").columns[1].show == rueda::Show::ratio);
  CHECK(find(tables, "book_task_10_7_efficiency").columns[1].show == rueda::Show::percent);
}

TEST_CASE("a study without the book's models has the book's tables, too", "[layouts]") {
  auto points = std::vector{observation(1, 64, 8), observation(2, 64, 5)};
  CHECK(ids(book(points)) == std::vector<std::string>{"book_task_10_5_s1"});
  points[1].oversubscribed = true;
  const Table table = book(points).front();
  CHECK(table.rows[1].back().text() == "more threads than cores");
  CHECK(std::ranges::none_of(table.columns,
                             [](const auto& c) { return c.key.starts_with("printed"); }));
  Observation other = observation(4, 64, 3);
  other.model = "resnet20";
  CHECK(ids(book({points[0], points[1], other})) == std::vector<std::string>{"book_task_10_5_s1"});
  Observation one = other;
  one.ranks = 1;
  one.global_batch = 64;
  CHECK(ids(book({points[0], points[1], other, one})) ==
        std::vector<std::string>{"book_task_10_5_s1", "book_task_10_6_s2",
                                 "book_task_10_7_epoch_time", "book_task_10_7_throughput",
                                 "book_task_10_7_speedup", "book_task_10_7_efficiency"});
  CHECK(book({}).empty());
  CHECK(nyu({}).empty());
}

TEST_CASE("the homework's tables from the published answer", "[layouts]") {
  const auto all = nyu(rueda::published("nyu"));
  // The batches grow fourfold, so 1 and 4 GPUs also make weak series.
  CHECK_THAT(all[0].title, Contains("weak scaling"));
  const std::vector<Table> tables(all.begin() + 4, all.end());
  CHECK(ids(tables) == std::vector<std::string>{"nyu_table_1_g2", "nyu_table_2_g2",
                                                "nyu_table_3_g2", "nyu_communication_g2"});
  CHECK(tables[0].columns[1].heading == "Batch 32 global: time (sec)");
  CHECK(tables[0].rows.size() == 3);
  CHECK(tables[1].rows.size() == 2);
  CHECK(cell(tables[0], 2, "batch_512_time_s") == 11.35);
  CHECK(cell(tables[0], 4, "batch_512_speedup") == Approx(18.57 / 9.88));
  // Those that the answer itself prints: its table 2.
  CHECK(cell(tables[1], 2, "batch_32_compute_s") == Approx(11.72));
  CHECK(cell(tables[1], 2, "batch_32_comm_s") == Approx(48.45));
  CHECK(cell(tables[1], 4, "batch_32_comm_s") == Approx(64.47));
  CHECK(cell(tables[1], 4, "batch_128_comm_s") == Approx(15.6475));
  CHECK(cell(tables[1], 2, "batch_512_comm_s") == Approx(2.065));
  CHECK(cell(tables[1], 4, "batch_512_comm_s") == Approx(5.2375));
  // 2 x 3/4 x 4 x 11,173,962 bytes x 1,563 steps / 64.47 s
  CHECK(cell(tables[2], 4, "batch_32_bandwidth_GBps") ==
        Approx(1.5 * 44'695'848 * 1563 / 64.465 / 1e9).epsilon(1e-3));
  CHECK_THAT(all_notes(tables[1]), Contains("T(P) - C / P") && Contains("C = T(1)"));
  CHECK_THAT(all_notes(tables[2]), Contains("11,173,962 parameters") && Contains("2 (P-1)/P") &&
                                       Contains("8,192 x 4: 7"));
}

TEST_CASE("a public answer that ran per GPU: 66.3 s of communication, 0.40 GB/s", "[layouts]") {
  // 32 images per GPU: 96.315 s on one, 90.334 s on four, 391 steps of 128
  const auto tables = nyu({observation(1, 32, 96.315), observation(4, 32, 90.334)});
  CHECK(tables[0].columns[1].heading == "Batch 32 per GPU: time (sec)");
  CHECK(cell(tables[1], 4, "batch_32_compute_s") == Approx(24.07875));
  CHECK(cell(tables[1], 4, "batch_32_comm_s") == Approx(66.25525));
  CHECK(cell(tables[3], 4, "steps") == 391);
  CHECK(cell(tables[2], 4, "batch_32_bandwidth_GBps") == Approx(0.396).margin(0.0005));
}

TEST_CASE("what was measured stands beside what is inferred", "[layouts]") {
  const std::vector<rueda::RunResult> runs = {run(1, 10, 1), run(2, 6, 0.25)};
  const auto tables = nyu(rueda::observe_all(runs));
  const Table& table = find(tables, "nyu_communication");
  CHECK(cell(table, 2, "one_rank_s") == 10);
  CHECK(cell(table, 2, "loading_s") == 1);
  CHECK(cell(table, 2, "compute_s") == 4.5);   // (10 - 1) / 2
  CHECK(cell(table, 2, "inferred_s") == 1.5);  // 6 - 4.5
  CHECK(cell(table, 2, "measured_s") == Approx(0.8));
  CHECK(cell(table, 2, "exposed_s") == Approx(0.4));
  CHECK(cell(table, 2, "gradient_bytes") == 1e8);
  CHECK(cell(table, 2, "bandwidth_GBps") == Approx(8e8 / 1.5 / 1e9));
  CHECK(cell(table, 2, "busbw_GBps") == 2.5);
  CHECK_THAT(all_notes(tables[1]), !Contains("C = T(1)"));
}

TEST_CASE("communication below nothing has no bandwidth", "[layouts]") {
  const auto tables = nyu({observation(1, 64, 10), observation(2, 64, 4)});
  CHECK(cell(tables[1], 2, "batch_64_comm_s") == -1);
  CHECK(std::isnan(cell(tables[2], 2, "batch_64_bandwidth_GBps")));
}

TEST_CASE("without a run on one rank nothing is inferred", "[layouts]") {
  const auto tables = nyu({observation(2, 64, 4), observation(4, 64, 3)});
  CHECK(std::isnan(cell(tables[1], 4, "batch_64_comm_s")));
  CHECK_THAT(all_notes(tables[0]), Contains("No run on one rank"));
}

TEST_CASE("batches that were not run on all ranks leave gaps", "[layouts]") {
  const auto tables = nyu({observation(1, 64, 10), observation(2, 64, 6), observation(1, 128, 9),
                           observation(4, 128, 3)});
  CHECK(tables[0].rows.size() == 3);
  CHECK(std::isnan(cell(tables[0], 4, "batch_64_time_s")));
  CHECK(cell(tables[0], 4, "batch_128_speedup") == 3);
}

TEST_CASE("bytes of a gradient by the model's name", "[layouts]") {
  CHECK(rueda::gradient_bytes("resnet18") == 4.0 * 11'173'962);
  CHECK(rueda::gradient_bytes("resnet50v2") == 4.0 * 23'539'850);
  CHECK(std::isnan(rueda::gradient_bytes("alexnet")));
}
