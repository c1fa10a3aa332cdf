#include "rueda/record/run_json.hpp"

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "rueda/core/error.hpp"
#include "rueda/display/result_table.hpp"
#include "tests/support/sample_run.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rueda;
namespace fs = std::filesystem;
using nlohmann::json;
using test::content;
using test::ScratchDirectory;

namespace {

json parsed(const RunRecord& run) { return json::parse(to_json(run)); }

double sum_of_phases(const json& phases, const char* which) {
  double sum = 0;
  for (const std::string_view name : kPhaseNames) {
    const json& phase = phases.at(std::string(name));
    sum += phase.is_object() ? phase.at(which).get<double>() : phase.get<double>();
  }
  return sum;
}

}  // namespace

TEST_CASE("run.json: options by the names of the command line", "[run_json]") {
  RunRecord run = test::sample_run();
  run.config.seed = 18'446'744'073'709'551'615ULL;
  run.config.reduce_order = ReduceOrder::fixed;
  run.config.shuffle = false;
  run.config.fault = {InjectedFault::Kind::flip_bit, 1, 7};
  run.config.target_accuracy = 0.8;
  run.config.verify_messages = true;
  const json c = parsed(run).at("config");
  CHECK(c.at("batch-per-rank") == 64);
  CHECK(c.at("weight-decay") == 1e-4);
  CHECK(c.at("seed") == 18'446'744'073'709'551'615ULL);
  CHECK(c.at("reduce-order") == "fixed");
  CHECK(c.at("shuffle") == "off");
  CHECK(c.at("inject") == "flip-bit:1:7");
  CHECK(c.at("verify-messages") == true);
  CHECK(c.at("target-accuracy") == 0.8);
  CHECK(parsed(test::sample_run()).at("config").at("inject").is_null());
  CHECK(parsed(test::sample_run()).at("config").at("target-accuracy").is_null());
}

TEST_CASE("run.json: phases add up to steps, ranks and epochs", "[run_json]") {
  const RunRecord run = test::sample_run(3, 3);
  const json epochs = parsed(run).at("epochs");
  for (const json& e : epochs) {
    double seconds = 0;
    for (const json& rank : e.at("ranks")) {
      CHECK(sum_of_phases(rank.at("phases"), "") ==
            Approx(rank.at("seconds").get<double>()).epsilon(1e-12));
      seconds += rank.at("seconds").get<double>();
    }
    CHECK(sum_of_phases(e.at("phases"), "mean") == Approx(seconds / 3).epsilon(1e-12));
    for (const char* kind : {"full_step", "partial_step"}) {
      CHECK(sum_of_phases(e.at(kind).at("phases"), "mean") ==
            Approx(e.at(kind).at("seconds").at("mean").get<double>()).epsilon(1e-12));
    }
  }
}

TEST_CASE("run.json: communication per step and its bandwidth", "[run_json]") {
  RunRecord run = test::sample_run(4, 4);
  run.gradient_bytes = 90'000'000;
  const json c = parsed(run).at("epochs").at(0).at("communication");
  CHECK(c.at("steps") == 3);
  CHECK(c.at("bytes_per_step") == 90'000'000);
  CHECK(c.at("busy").at("max").get<double>() == Approx(0.045));
  CHECK(c.at("exposed").at("max").get<double>() == Approx(0.040));
  CHECK(c.at("add").at("min").get<double>() == Approx(0.005));
  CHECK(c.at("wait").at("max").get<double>() == Approx(0.030));
  // Of each rank: what is neither waiting nor adding. The last waits longest.
  CHECK(c.at("transfer").at("max").get<double>() == Approx(0.045 - 0.005));
  CHECK(c.at("transfer").at("min").get<double>() == Approx(0.045 / 1.3 - 0.030 - 0.005 * 1.3));
  CHECK(c.at("algbw_GBps").get<double>() == Approx(2));
  CHECK(c.at("busbw_GBps").get<double>() == Approx(3));
  const json alone = parsed(test::sample_run(1, 1)).at("epochs").at(0).at("communication");
  CHECK(alone.at("algbw_GBps").is_null());
  CHECK(alone.at("busbw_GBps").is_null());
}

TEST_CASE("run.json: the input, its mode and its work per step", "[run_json]") {
  RunRecord run = test::sample_run();
  CHECK(parsed(run).at("input").at("mode") == "resident");
  CHECK(parsed(run).at("input").at("workers_per_rank").is_null());
  run.config.input = InputMode::stream;
  run.config.input_workers = 3;
  const json j = parsed(run);
  CHECK(j.at("input").at("mode") == "stream");
  CHECK(j.at("input").at("workers_per_rank") == 3);
  CHECK(j.at("config").at("input") == "stream");
  CHECK(j.at("config").at("input-workers") == 3);
  for (const json& input : {j.at("epochs").at(0).at("input"), j.at("summary").at("steady_input")}) {
    const double steps = (128 + 128 + 40) / 128.0 / 3;  // of three, in full ones
    CHECK(input.at("prepare_busy").at("min").get<double>() == Approx(0.008 * steps));
    CHECK(input.at("prepare_busy").at("max").get<double>() == Approx(0.0088 * steps));
    CHECK(input.at("prepare_exposed").at("mean").get<double>() == Approx(0.004 * steps));
    CHECK(input.at("copy_busy").at("mean").get<double>() == Approx(0.0021 * steps));
    CHECK(input.at("copy_exposed").at("mean").get<double>() == Approx(0.001 * steps));
    CHECK(input.at("copy_bytes").at("mean").get<double>() == Approx(50'000 * 64 * steps));
    CHECK(input.at("copy_GBps").get<double>() == Approx(3.2e6 / 0.0021 / 1e9));
  }
  CHECK(j.at("epochs").at(0).at("input").at("steps") == 3);
  CHECK(j.at("summary").at("steady_input").at("steps") == 6);
  const json rank = j.at("epochs").at(0).at("ranks").at(1);
  CHECK(rank.at("prepare_busy").get<double>() == Approx(3 * 0.0088 * (296 / 128.0 / 3)));
  CHECK(rank.at("copy_busy").get<double>() == Approx(3 * 0.0022 * (296 / 128.0 / 3)));
  CHECK(rank.at("copy_bytes") == 50'000 * 148);
}

TEST_CASE("run.json: nothing copied, no rate", "[run_json]") {
  RunRecord run = test::sample_run(1, 1);
  for (StepRecord& s : run.epochs[0].step_records[0]) s.copy_busy = 0;
  CHECK(parsed(run).at("epochs").at(0).at("input").at("copy_GBps").is_null());
}

TEST_CASE("run.json: summary", "[run_json]") {
  RunRecord run = test::sample_run();
  json s = parsed(run).at("summary");
  CHECK(s.at("steady_epoch_seconds").get<double>() == Approx(0.85));
  CHECK(s.at("steady_includes_warm_up") == false);
  CHECK(s.at("steady_full_step").at("count") == 4);
  CHECK(s.at("training_seconds").get<double>() == Approx(2.8));
  CHECK(s.at("evaluation_seconds").get<double>() == Approx(0.63));
  run.seconds_to_target = 2.5;
  run.outcome = "failed";
  run.failure = "out of luck";
  run.epochs.resize(1);
  s = parsed(run).at("summary");
  CHECK(s.at("failure") == "out of luck");
  CHECK(s.at("seconds_to_target") == 2.5);
  CHECK(s.at("steady_includes_warm_up") == true);
}

TEST_CASE("run.json: what is no number becomes null, and the text stays JSON", "[run_json]") {
  RunRecord run = test::sample_run();
  run.epochs[0].train.loss = std::numeric_limits<double>::quiet_NaN();
  run.epochs[1].train.loss = std::numeric_limits<double>::infinity();
  run.epochs[2].test.reset();
  run.epochs[2].step_records[0].resize(2);
  run.epochs[2].step_records[1].resize(2);
  const json j = parsed(run);
  CHECK(j.at("epochs").at(0).at("loss").is_null());
  CHECK(j.at("epochs").at(1).at("loss").is_null());
  CHECK(j.at("epochs").at(2).at("val_loss").is_null());
  CHECK(j.at("epochs").at(2).at("partial_step").is_null());
  CHECK(j.at("epochs").at(2).at("partial_step_seconds").at("count") == 0);
  CHECK(j.at("epochs").at(2).at("partial_step_seconds").at("median").is_null());
  run.epochs.clear();
  CHECK(parsed(run).at("summary").at("steady_epoch_seconds").is_null());
  CHECK(parsed(run).at("epochs") == json::array());
}

TEST_CASE("run.json: names that are not UTF-8 do no harm", "[run_json]") {
  RunRecord run = test::sample_run();
  run.config.run_dir = "runs/\xff\xfe";
  CHECK(parsed(run).at("config").at("run-dir") == "runs/\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("run.json: written whole, over an older one, with nothing left beside it", "[run_json]") {
  const ScratchDirectory scratch;
  const fs::path path = scratch.path() / kRunJsonName;
  std::ofstream(path) << "an older text that is no JSON";
  const RunRecord run = test::sample_run();
  write_run_json(path, run);
  CHECK(content(path) == to_json(run));
  CHECK(scratch.files() == 1);
}

TEST_CASE("run.json: the old file is replaced, not written into", "[run_json]") {
  const ScratchDirectory scratch;
  const fs::path path = scratch.path() / kRunJsonName;
  std::ofstream(path) << "old";
  // A second name for the old file keeps its content, if the new one is another file.
  fs::create_hard_link(path, scratch.path() / "witness");
  write_run_json(path, test::sample_run());
  CHECK(content(scratch.path() / "witness") == "old");
}

TEST_CASE("run.json: where it cannot be written", "[run_json]") {
  const ScratchDirectory scratch;
  const RunRecord run = test::sample_run();
  const fs::path missing = scratch.path() / "missing" / kRunJsonName;
  CHECK_THROWS_AS(write_run_json(missing, run), RunError);
  CHECK_THROWS_WITH(write_run_json(missing, run),
                    Catch::Contains(missing.string()) && Catch::Contains("No such file"));
  // A directory in the way fails only at the rename, after a temporary file was made.
  const fs::path occupied = scratch.path() / "occupied";
  fs::create_directory(occupied);
  CHECK_THROWS_AS(write_run_json(occupied, run), RunError);
  CHECK(scratch.files() == 1);
  CHECK_THROWS_AS(write_run_json("/proc/run.json", run), RunError);
}

TEST_CASE("steps that were released leave run.json as it was", "[run_json]") {
  RunRecord run = test::sample_run(4, 2);
  const std::string before = to_json(run);
  for (std::size_t i = 0; i < 2; ++i) release_steps(run.epochs[i], run);
  CHECK(run.epochs[0].step_records.empty());
  CHECK(run.epochs[1].bucket_records.empty());
  CHECK(to_json(run) == before);
  release_steps(run.epochs[1], run);  // once more changes nothing
  CHECK(to_json(run) == before);
  CHECK(result_table(run) == result_table(test::sample_run(4, 2)));
}

TEST_CASE("epochs stand in run.json as if they were dumped with it", "[run_json]") {
  using Ordered = nlohmann::ordered_json;
  for (const std::size_t epochs : {0, 1, 3}) {
    RunRecord run = test::sample_run();
    run.epochs.resize(epochs);
    run.failure = "a\nline\n  \"epochs\": []";
    CAPTURE(epochs);
    CHECK(to_json(run) == Ordered::parse(to_json(run)).dump(2) + "\n");
    CHECK(Ordered::parse(to_json(run)).at("epochs").size() == epochs);
    const Ordered history = Ordered::parse(join(history_json(run)));
    CHECK(history.at("epochs") == Ordered::parse(to_json(run)).at("epochs"));
  }
}

TEST_CASE("the history of a run comes back as it was", "[run_json]") {
  RunRecord run = test::sample_run();
  run.started_at = "2026-01-02T03:04:05Z";
  run.epochs[1].resumed_at_step = 2;
  run.epochs[2].test.reset();
  run.resumptions = {{"2026-01-02T04:04:05Z", "a/checkpoints/x", 1, 2, 3}};
  const std::string history = join(history_json(run));
  RunRecord back = test::sample_run();
  back.epochs.clear();
  restore_history(back, history, "x");
  CHECK(back.started_at == run.started_at);
  REQUIRE(back.epochs.size() == 3);
  CHECK(back.epochs[0].ranks == 2);
  CHECK(back.epochs[0].seconds == run.epochs[0].seconds);
  CHECK(back.epochs[0].train.loss == run.epochs[0].train.loss);
  CHECK(back.epochs[0].test->accuracy == run.epochs[0].test->accuracy);
  CHECK(back.epochs[1].resumed_at_step == std::optional<std::size_t>(2));
  CHECK_FALSE(back.epochs[2].test);
  CHECK(back.resumptions.at(0).checkpoint == "a/checkpoints/x");
  CHECK(join(history_json(back)) == history);
  CHECK(result_table(back).find("Epochs") != std::string::npos);
  CHECK_THROWS_AS(restore_history(back, "{}", "x"), InputError);
  CHECK_THROWS_WITH(restore_history(back, std::string(100, '[') + "\n", "x"),
                    "x: it is no history of epochs");
  const std::string head = history.substr(0, history.find('\n') + 1);
  CHECK_THROWS_WITH(restore_history(back, head + std::string(100, '[') + "\n", "x"),
                    "x: its JSON has more than 32 levels");
  for (const std::size_t cut : {history.size() / 2, history.size() - 4, head.size()}) {
    CHECK_THROWS_WITH(restore_history(back, history.substr(0, cut), "x"), "x: it ends too early");
  }
}

TEST_CASE("a history of many epochs on many ranks is read as it was written", "[run_json]") {
  RunRecord run = test::sample_run();
  run.epochs.resize(1);
  std::istringstream lines(join(history_json(run)));
  std::string epoch;
  std::getline(lines, epoch);
  std::getline(lines, epoch);
  // Together more values than one JSON may have.
  epoch.back() = ',';
  epoch += "\"more\":[0";
  for (int i = 0; i < 500'000; ++i) epoch += ",1";
  epoch += "]}";
  run.epochs.assign(21, run.epochs[0]);
  for (EpochRecord& e : run.epochs) e.written = share(epoch);
  RunRecord back;
  restore_history(back, join(history_json(run)), "x");
  CHECK(back.epochs.size() == 21);
}

TEST_CASE("the history of a timed run, which has no losses, comes back", "[run_json]") {
  RunRecord run = test::sample_run();
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  for (EpochRecord& e : run.epochs) e.train.loss = e.train.accuracy = nothing;
  RunRecord back;
  restore_history(back, join(history_json(run)), "x");
  REQUIRE(back.epochs.size() == run.epochs.size());
  CHECK(std::isnan(back.epochs[0].train.loss));
  CHECK(std::isnan(back.epochs[0].train.accuracy));
}

TEST_CASE("steps.csv of a run that is resumed ends with the last epoch that counts", "[run_json]") {
  const ScratchDirectory folder;
  RunRecord run = test::sample_run();
  const auto path = folder.path() / "steps.csv";
  write_steps_csv(path, run);
  const std::string whole = content(path);
  folder.write("cut.csv", whole.substr(0, whole.size() - 3));
  copy_steps_csv(path, path, 2);
  run.epochs.pop_back();
  write_steps_csv(folder.path() / "two.csv", run);
  CHECK(content(path) == content(folder.path() / "two.csv"));
  copy_steps_csv(folder.path() / "cut.csv", path, 3);
  CHECK(content(path) == whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1));
  copy_steps_csv(folder.path() / "none.csv", path, 3);
  CHECK(content(path) == whole.substr(0, whole.find('\n') + 1));
}

TEST_CASE("steps.csv grows by epochs to what is written at once", "[run_json]") {
  const ScratchDirectory folder;
  const RunRecord run = test::sample_run(3, 2);
  write_steps_csv(folder.path() / "whole.csv", run);
  folder.write("steps.csv", "of another run\n");
  for (const EpochRecord& epoch : run.epochs) {
    append_steps_csv(folder.path() / "steps.csv", epoch, epoch.epoch == 1);
  }
  CHECK(content(folder.path() / "steps.csv") == content(folder.path() / "whole.csv"));
  CHECK_THROWS_AS(append_steps_csv(folder.path() / "none.csv", run.epochs[1], false), RunError);
}
