#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "record/run_json.hpp"
#include "written_files.hpp"

// What is written down of steps and epochs follows from the records of single steps: from these,
// and not from what the program makes of them, it is told here.

namespace rueda::test {
namespace {

using Values = std::vector<double>;

/// min, mean and max are those of `values`, one of each rank.
void check_range(const WrittenFiles& json, const std::string& path, const Values& values) {
  CAPTURE(path);
  REQUIRE(values.size() == kWrittenRanks);
  CHECK(number_at(json, path + "/min") == Approx(std::ranges::min(values)));
  CHECK(number_at(json, path + "/mean") ==
        Approx(std::accumulate(values.begin(), values.end(), 0.0) / double(kWrittenRanks)));
  CHECK(number_at(json, path + "/max") == Approx(std::ranges::max(values)));
}

/// Sums of a quantity over the steps of each rank that are of a kind.
template <typename Value, typename Taken>
Values sums_by_rank(const EpochRecord& epoch, Value value, Taken taken) {
  Values sums;
  for (const auto& steps : epoch.step_records) {
    sums.push_back(0);
    for (const StepRecord& s : steps)
      if (taken(s)) sums.back() += double(std::invoke(value, s));
  }
  return sums;
}

bool is_full(const StepRecord& s) { return s.global_samples == 128; }
bool is_partial(const StepRecord& s) { return !is_full(s); }
bool is_any(const StepRecord&) { return true; }

using Quantity = std::function<double(const StepRecord&)>;

Quantity phase(Phase p) {
  return [p](const StepRecord& s) { return s.phases[std::size_t(p)]; };
}
Quantity core_seconds(double CoreTime::*part) {
  return [part](const StepRecord& s) { return s.cores.*part; };
}
double transfer(const StepRecord& s) {
  return s.all_reduce_busy - s.all_reduce_wait - s.all_reduce_add;
}

/// Seconds of a step on ranks, by the key.
std::map<std::string, Quantity> phases_below(const std::string& path) {
  std::map<std::string, Quantity> all;
  for (std::size_t p = 0; p < kPhases; ++p)
    all[path + "/phases/" + std::string(kPhaseNames[p])] = phase(Phase(p));
  return all;
}

/// The mean step of a kind: what each rank took, over its steps.
template <typename Taken>
void check_mean_step(const WrittenFiles& epoch, const EpochRecord& record, const std::string& path,
                     Taken taken) {
  std::map<std::string, Quantity> wanted = phases_below(path);
  wanted[path + "/seconds"] = &StepRecord::seconds;
  wanted[path + "/all_reduce_busy"] = &StepRecord::all_reduce_busy;
  wanted[path + "/all_reduce_wait"] = &StepRecord::all_reduce_wait;
  wanted[path + "/all_reduce_transfer"] = transfer;
  wanted[path + "/all_reduce_add"] = &StepRecord::all_reduce_add;
  const double steps = sums_by_rank(
      record, [](const StepRecord&) { return 1; }, taken)[0];
  CHECK(number_at(epoch, path + "/count") == steps);
  for (const auto& [key, value] : wanted) {
    Values means = sums_by_rank(record, value, taken);
    for (double& mean : means) mean /= steps;
    check_range(epoch, key, means);
  }
}

}  // namespace

TEST_CASE("run.json: scores of an epoch, and null where there are none", "[written]") {
  const RunRecord run = full_run();
  const WrittenFiles epochs = files_of(run).at("run.json").at("epochs");
  for (std::size_t i = 0; i < 2; ++i) {
    const EpochRecord& e = run.epochs[i];
    CAPTURE(i);
    const WrittenFiles& j = epochs.at(i);
    // Exactly: what is read back is the number that was written.
    CHECK(j.at("epoch") == i + 1);
    CHECK(j.at("steps") == 3);
    CHECK(j.at("samples") == 296);
    CHECK(j.at("loss") == e.train.loss);
    CHECK(j.at("accuracy") == e.train.accuracy);
    CHECK(j.at("learning_rate") == 0.1);
    CHECK(j.at("seconds") == e.seconds);
    CHECK(j.at("images_per_second") == e.images_per_second);
    CHECK(j.at("images_per_second_per_rank") == e.images_per_second / double(kWrittenRanks));
    CHECK(j.at("parameter_hash") == e.parameter_hash);
  }
  CHECK(epochs.at(0).at("resumed_at_step").is_null());
  CHECK(epochs.at(1).at("resumed_at_step") == 2);
  const WrittenFiles expected = {
      {"val_loss", 2.4}, {"val_accuracy", 0.14}, {"val_samples", 100}, {"val_seconds", 0.21}};
  for (const auto& [key, value] : expected.items()) {
    CAPTURE(key);
    CHECK(epochs.at(0).at(key) == value);
    CHECK(epochs.at(1).at(key).is_null());
  }
}

TEST_CASE("run.json: times of an epoch are those of the steps of its ranks", "[written]") {
  const RunRecord run = full_run();
  const WrittenFiles epochs = files_of(run).at("run.json").at("epochs");
  for (std::size_t i = 0; i < 2; ++i) {
    const EpochRecord& record = run.epochs[i];
    CAPTURE(i);
    const WrittenFiles& epoch = epochs.at(i);
    for (const auto& [key, value] : phases_below(""))
      check_range(epoch, key, sums_by_rank(record, value, is_any));
    check_mean_step(epoch, record, "/full_step", is_full);
    check_mean_step(epoch, record, "/partial_step", is_partial);
    // A step takes as long as its slowest rank, which is the last one; there are two full ones.
    const auto& steps = record.step_records.back();
    const auto [fast, slow] = std::minmax(steps[0].seconds, steps[1].seconds);
    const WrittenFiles& spread = epoch.at("full_step_seconds");
    CHECK(spread.at("count") == 2);
    for (const auto& [key, value] :
         std::map<std::string, double>{{"min", fast},
                                       {"mean", (fast + slow) / 2},
                                       {"median", (fast + slow) / 2},
                                       {"p90", fast + 0.9 * (slow - fast)},
                                       {"max", slow},
                                       {"deviation", (slow - fast) / 2}})
      CHECK(number_at(spread, "/" + key) == Approx(value));
    CHECK(number_at(epoch, "/partial_step_seconds/max") == steps[2].seconds);
  }
}

TEST_CASE("run.json: each rank's own times", "[written]") {
  const RunRecord run = full_run();
  const WrittenFiles epochs = files_of(run).at("run.json").at("epochs");
  std::map<std::string, Quantity> wanted = phases_below("");
  wanted["/seconds"] = &StepRecord::seconds;
  wanted["/samples"] = &StepRecord::samples;
  wanted["/all_reduce_busy"] = &StepRecord::all_reduce_busy;
  wanted["/all_reduce_wait"] = &StepRecord::all_reduce_wait;
  wanted["/all_reduce_add"] = &StepRecord::all_reduce_add;
  wanted["/prepare_busy"] = &StepRecord::prepare_busy;
  wanted["/copy_busy"] = &StepRecord::copy_busy;
  wanted["/copy_bytes"] = &StepRecord::copy_bytes;
  for (std::size_t i = 0; i < 2; ++i) {
    const WrittenFiles& ranks = epochs.at(i).at("ranks");
    REQUIRE(ranks.size() == kWrittenRanks);
    const Values got = sums_by_rank(run.epochs[i], core_seconds(&CoreTime::got), is_any);
    const Values wanted_cores =
        sums_by_rank(run.epochs[i], core_seconds(&CoreTime::wanted), is_any);
    for (std::size_t rank = 0; rank < kWrittenRanks; ++rank)
      CHECK(number_at(ranks.at(rank), "/core_share") == Approx(got[rank] / wanted_cores[rank]));
    for (const auto& [key, value] : wanted) {
      const Values sums = sums_by_rank(run.epochs[i], value, is_any);
      for (std::size_t rank = 0; rank < kWrittenRanks; ++rank) {
        CAPTURE(i, rank, key);
        CHECK(number_at(ranks.at(rank), key) == Approx(sums[rank]));
      }
    }
    const auto compute = [](const StepRecord& s) {
      return s.seconds - phase(Phase::all_reduce)(s);
    };
    for (std::size_t rank = 0; rank < kWrittenRanks; ++rank) {
      const WrittenFiles& j = ranks.at(rank);
      CHECK(j.at("rank") == rank);
      CHECK(number_at(j, "/full_step_seconds/mean") ==
            Approx(sums_by_rank(run.epochs[i], &StepRecord::seconds, is_full)[rank] / 2));
      CHECK(number_at(j, "/full_step_compute_seconds/mean") ==
            Approx(sums_by_rank(run.epochs[i], compute, is_full)[rank] / 2));
    }
  }
}

TEST_CASE("run.json: communication, input and efficiency of an epoch", "[written]") {
  const RunRecord run = full_run();
  const EpochRecord& record = run.epochs[0];
  const WrittenFiles epoch = files_of(run).at("run.json").at("epochs").at(0);
  const std::map<std::string, Quantity> wanted = {
      {"/communication/busy", &StepRecord::all_reduce_busy},
      {"/communication/exposed", phase(Phase::all_reduce)},
      {"/communication/wait", &StepRecord::all_reduce_wait},
      {"/communication/transfer", transfer},
      {"/communication/add", &StepRecord::all_reduce_add},
      {"/input/prepare_busy", &StepRecord::prepare_busy},
      {"/input/prepare_exposed", phase(Phase::load)},
      {"/input/copy_busy", &StepRecord::copy_busy},
      {"/input/copy_exposed", phase(Phase::copy)},
      {"/input/copy_bytes", &StepRecord::copy_bytes}};
  for (const auto& [key, value] : wanted) {
    Values means = sums_by_rank(record, value, is_any);
    for (double& mean : means) mean /= 3;
    check_range(epoch, key, means);
  }
  CHECK(epoch.at("communication").at("steps") == 3);
  CHECK(epoch.at("input").at("steps") == 3);
  CHECK(number_at(epoch, "/input/copy_GBps") ==
        Approx(number_at(epoch, "/input/copy_bytes/mean") / 1e9 /
               number_at(epoch, "/input/copy_busy/mean")));
  // Rank 0 is longest in the sum. The bytes go twice over (P - 1) / P of the link.
  CHECK(epoch.at("communication").at("bytes_per_step") == 1'084'400);
  CHECK(number_at(epoch, "/communication/busy_slowest_rank") == Approx(0.045));
  CHECK(number_at(epoch, "/communication/algbw_GBps") == Approx(1'084'400 / 0.045 / 1e9));
  CHECK(number_at(epoch, "/communication/busbw_GBps") ==
        Approx(1'084'400 / 0.045 / 1e9 * 2 * 3 / 4));
  const auto useful = [](const StepRecord& s) { return s.seconds - phase(Phase::all_reduce)(s); };
  const Values by_rank = sums_by_rank(record, useful, is_any);
  const double mean = std::accumulate(by_rank.begin(), by_rank.end(), 0.0) / double(kWrittenRanks);
  const double most = std::ranges::max(by_rank);
  // The last rank is the slowest in each step, so that it never waits on an ideal network.
  for (const auto& [key, value] : std::map<std::string, double>{{"useful_mean", mean},
                                                                {"useful_max", most},
                                                                {"ideal_network", most},
                                                                {"load_balance", mean / most},
                                                                {"serialisation", 1},
                                                                {"transfer", most / 1.1},
                                                                {"communication", most / 1.1},
                                                                {"parallel", mean / 1.1}}) {
    CAPTURE(key);
    CHECK(number_at(epoch, "/efficiency/" + key) == Approx(value));
  }
}

TEST_CASE("run.json: buckets and energy of an epoch", "[written]") {
  const WrittenFiles epochs = files_of(full_run()).at("run.json").at("epochs");
  const WrittenFiles& communication = epochs.at(1).at("communication");
  const WrittenFiles expected = {{"/buckets/0/bytes", 1'000'000},
                                 {"/buckets/1/bytes", nullptr},
                                 {"/buckets/0/queued/count", 2},
                                 {"/buckets/0/queued/min", 0.5},
                                 {"/buckets/0/queued/mean", 0.625},
                                 {"/buckets/0/queued/max", 0.75},
                                 {"/buckets/0/busy/mean", 0.375},
                                 {"/buckets/1/queued/mean", 0.75},
                                 {"/buckets/1/busy/mean", 0.5},
                                 {"/buckets/1/wait/mean", 0.0625},
                                 {"/buckets/1/transfer/mean", 0.25 - 0.0625},
                                 {"/buckets/1/add/mean", 0.125}};
  for (const auto& [path, value] : expected.items()) {
    CAPTURE(path);
    CHECK(value_at(communication, path) == value);
  }
  const WrittenFiles energy = {{"joules", 300},
                               {"host_joules", 60},
                               {"total_joules", 360},
                               {"includes", "GPUs and hosts"},
                               {"watt_hours", 0.1},
                               {"joules_per_image", 360.0 / 296},
                               {"images_per_joule", 296.0 / 300},
                               {"per_rank", {100, 200}}};
  CHECK(epochs.at(1).at("energy") == energy);
  for (const auto& [key, value] : energy.items()) {
    CAPTURE(key);
    if (key != "includes" && key != "per_rank") CHECK(epochs.at(0).at("energy").at(key).is_null());
  }
  CHECK(epochs.at(0).at("energy").at("includes") == "nothing");
}

TEST_CASE("run.json: the summary sums up the epochs", "[written]") {
  RunRecord run = full_run();
  const auto last_and_summary = [&run] {
    const WrittenFiles j = files_of(run).at("run.json");
    return std::pair(j.at("epochs").at(1), j.at("summary"));
  };
  auto [last, summary] = last_and_summary();
  for (const char* part :
       {"full_step_seconds", "full_step", "efficiency", "communication", "input"}) {
    CAPTURE(part);
    CHECK(summary.at("steady_" + std::string(part)) == last.at(part));
  }
  const WrittenFiles expected = {
      {"outcome", "completed"},
      {"failure", nullptr},
      {"epochs_completed", 2},
      {"steady_epoch_seconds", run.epochs[1].seconds},
      {"steady_images_per_second", run.epochs[1].images_per_second},
      {"steady_includes_warm_up", true},
      {"startup_seconds", 0.28 + 0.5 + 0.131},
      {"training_seconds", run.epochs[0].seconds + run.epochs[1].seconds},
      {"evaluation_seconds", 0.21},
      {"total_seconds", 4.5},
      {"seconds_to_target", nullptr}};
  for (const auto& [key, value] : expected.items()) {
    CAPTURE(key);
    CHECK(summary.at(key) == value);
  }
  for (const char* key : {"total_joules", "watt_hours", "joules_to_target"})
    CHECK(summary.at("energy").at(key).is_null());  // not known of the first epoch
  run.epochs[0].energy = {3600, 7200, 296};
  run.seconds_to_target = 2;
  summary = last_and_summary().second;
  for (const auto& [key, value] :
       std::map<std::string, double>{{"joules", 3900},
                                     {"host_joules", 7260},
                                     {"total_joules", 11'160},
                                     {"watt_hours", 3.1},
                                     {"joules_per_image", 11'160 / 592.0},
                                     {"images_per_joule", 592 / 3900.0},
                                     {"joules_to_target", 11'160},
                                     {"watt_hours_to_target", 3.1}}) {
    CAPTURE(key);
    CHECK(number_at(summary, "/energy/" + key) == Approx(value));
  }
}

/// Empty cells where there are none.
static void check_norms(const WrittenFiles& row, const StepNorms& norms) {
  for (const auto& [name, value] : {std::pair("parts", norms.parts),
                                    {"part_norm2", norms.part_norm2},
                                    {"gradient_norm2", norms.gradient_norm2}}) {
    CAPTURE(name);
    CHECK(row.at(name) == (norms.measured() ? WrittenFiles(value) : WrittenFiles()));
  }
}

TEST_CASE("steps.csv has a row of each step and rank, each number as it was", "[written]") {
  const RunRecord run = full_run();
  const WrittenFiles rows = files_of(run).at("steps.csv");
  std::map<std::string, Quantity> columns = {{"epoch", &StepRecord::epoch},
                                             {"step", &StepRecord::step},
                                             {"samples", &StepRecord::samples},
                                             {"global_samples", &StepRecord::global_samples},
                                             {"seconds", &StepRecord::seconds},
                                             {"all_reduce_busy", &StepRecord::all_reduce_busy},
                                             {"all_reduce_wait", &StepRecord::all_reduce_wait},
                                             {"all_reduce_add", &StepRecord::all_reduce_add},
                                             {"train_loss", &StepRecord::train_loss},
                                             {"train_accuracy", &StepRecord::train_accuracy},
                                             {"learning_rate", &StepRecord::learning_rate},
                                             {"prepare_busy", &StepRecord::prepare_busy},
                                             {"copy_busy", &StepRecord::copy_busy},
                                             {"copy_bytes", &StepRecord::copy_bytes}};
  for (std::size_t p = 0; p < kPhases; ++p) columns[std::string(kPhaseNames[p])] = phase(Phase(p));
  REQUIRE(rows.size() == 2 * 3 * kWrittenRanks);
  std::size_t row = 0;
  for (const EpochRecord& epoch : run.epochs) {
    for (std::size_t step = 0; step < 3; ++step) {
      for (std::size_t rank = 0; rank < kWrittenRanks; ++rank, ++row) {
        CAPTURE(row);
        CHECK(rows.at(row).size() == columns.size() + 4);
        CHECK(rows.at(row).at("rank") == rank);
        const StepNorms& norms = epoch.step_records[rank][step].norms;
        check_norms(rows.at(row), rank == 0 && norms.measured() ? norms : StepNorms());
        for (const auto& [name, value] : columns) {
          CAPTURE(name);
          CHECK(rows.at(row).at(name) == value(epoch.step_records[rank][step]));
        }
      }
    }
  }
}

}  // namespace rueda::test
