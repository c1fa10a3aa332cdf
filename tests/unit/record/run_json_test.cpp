#include "record/run_json.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "display/run_text.hpp"
#include "record/aggregation.hpp"
#include "record/recorded_options.hpp"
#include "record/run_figures.hpp"
#include "record/write_pace.hpp"
#include "tests/support/common.hpp"
#include "tests/support/sample_run.hpp"
#include "written_files.hpp"

using namespace rueda;
namespace fs = std::filesystem;
using nlohmann::json;
using test::content;
using test::ScratchDirectory;
using test::steps_csv;

namespace {

json parsed(const RunRecord& run) { return json::parse(to_json(run)); }

}  // namespace

TEST_CASE("options that an earlier version recorded are read by today's names", "[run_json]") {
  using nlohmann::ordered_json;
  const auto now = [](const char* text) {
    return recorded_options(ordered_json::parse(text)).dump();
  };
  CHECK(now(R"({"lr":0.1,"compute-ms":40.0,"compute-from":null,"compute-jitter":50.0,)"
            R"("compute-factors":"1,2.5","on-audit":"stop","inject":"nan:0:1"})") ==
        R"({"lr":0.1,"compute":"ms=40,jitter=50,factors=1:2.5"})");
  CHECK(now(R"({"compute-ms":null,"compute-from":"a,b/run.json","compute-jitter":0.0,)"
            R"("compute-factors":null})") == R"({"compute":"from=a,b/run.json"})");
  CHECK(now(R"({"compute-ms":null,"compute-from":null,"compute-jitter":0.0})") ==
        R"({"compute":null})");
  CHECK(now(R"({"compute":"ms=40","on-audit":"recompute"})") ==
        R"({"compute":"ms=40","on-audit":"recompute"})");
  CHECK(now(R"(["no","options"])") == R"(["no","options"])");
}

TEST_CASE("run.json: options by the names of the command line", "[run_json]") {
  RunRecord run = test::sample_run();
  json expected = {{"batch-per-rank", 64},  {"weight-decay", 1e-4}, {"compute", nullptr},
                   {"input", "resident"},   {"shuffle", "on"},      {"target-accuracy", nullptr},
                   {"reduce-order", "ring"}};
  const auto check = [&] {
    const json config = parsed(run).at("config");
    for (const auto& [name, value] : expected.items()) CHECK(config.at(name) == value);
  };
  check();
  run.config.training.seed = 18'446'744'073'709'551'615ULL;
  run.config.sums.order = ReduceOrder::fixed;
  run.config.data.shuffle = false;
  run.config.compute = {.ms = 40, .factors = {1, 2}};
  run.config.training.target_accuracy = 0.8;
  run.config.checks.verify_messages = true;
  run.config.data.input = InputMode::stream;
  run.config.data.input_workers = 3;
  expected = {{"seed", run.config.training.seed},
              {"reduce-order", "fixed"},
              {"shuffle", "off"},
              {"compute", "ms=40,factors=1:2"},
              {"target-accuracy", 0.8},
              {"verify-messages", true},
              {"input", "stream"},
              {"input-workers", 3}};
  check();
  CHECK(parsed(run).at("input") == json{{"mode", "stream"}, {"workers_per_rank", 3}});
  run.config.output.run_dir = "runs/\xff\xfe";  // no UTF-8
  CHECK(parsed(run).at("config").at("run-dir") == "runs/\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("run.json: what is no number becomes null, and the text stays JSON", "[run_json]") {
  RunRecord run = test::sample_run(1, 1);
  run.epochs[0].train.loss = std::numeric_limits<double>::quiet_NaN();
  for (StepRecord& s : run.epochs[0].step_records[0]) s.copy_busy = 0;
  run.epochs[1].train.loss = std::numeric_limits<double>::infinity();
  run.epochs[2].test.reset();
  run.epochs[2].step_records[0].resize(2);  // full ones
  run.seconds_to_target = 2.5;
  run.failure = "out of luck";
  const json j = parsed(run);
  for (const char* path :
       {"/epochs/0/loss", "/epochs/0/input/copy_GBps", "/epochs/0/communication/algbw_GBps",
        "/epochs/0/communication/busbw_GBps", "/epochs/1/loss", "/epochs/2/val_loss",
        "/epochs/2/partial_step", "/epochs/2/partial_step_seconds/median"}) {
    CAPTURE(path);
    CHECK(j.at(json::json_pointer(path)).is_null());
  }
  CHECK(j.at("epochs").at(2).at("partial_step_seconds").at("count") == 0);
  CHECK(j.at("summary").at("failure") == "out of luck");
  CHECK(j.at("summary").at("seconds_to_target") == 2.5);
  CHECK(j.at("summary").at("steady_includes_warm_up") == false);
  CHECK(j.at("summary").at("steady_full_step").at("count") == 4);
  run.epochs.clear();
  CHECK(parsed(run).at("summary").at("steady_epoch_seconds").is_null());
  CHECK(parsed(run).at("epochs") == json::array());
}

TEST_CASE("run.json: a whole new file replaces an older one, which is not changed", "[run_json]") {
  const ScratchDirectory scratch;
  const fs::path path = scratch.write(kRunJsonName, "an older text that is no JSON");
  // A second name for the old file keeps its content, if the new one is another file.
  fs::create_hard_link(path, scratch.path() / "witness");
  const RunRecord run = test::sample_run();
  write_run_json(path, run);
  CHECK(content(path) == to_json(run));
  CHECK(content(scratch.path() / "witness") == "an older text that is no JSON");
  CHECK(scratch.files() == 2);
}

TEST_CASE("run.json: where it cannot be written", "[run_json]") {
  const ScratchDirectory scratch;
  const fs::path missing = scratch.path() / "missing" / kRunJsonName;
  CHECK_THROWS_WITH(write_run_json(missing, {}),
                    Catch::Contains(missing.string()) && Catch::Contains("No such file"));
  // A directory in the way fails only at the rename, after a temporary file was made.
  const fs::path occupied = scratch.path() / "occupied";
  fs::create_directory(occupied);
  for (const fs::path& path : {missing, occupied, fs::path("/proc/run.json")})
    CHECK_THROWS_AS(write_run_json(path, {}), RunError);
  CHECK(scratch.files() == 1);
}

TEST_CASE("steps that were released leave run.json as it was", "[run_json]") {
  RunRecord run = test::sample_run(4, 2);
  const std::string before = to_json(run);
  for (EpochRecord& epoch : run.epochs) release_steps(epoch, run);
  CHECK(run.epochs[0].step_records.empty());
  CHECK(run.epochs[1].bucket_records.empty());
  CHECK(to_json(run) == before);
  release_steps(run.epochs[1], run);  // once more changes nothing
  CHECK(to_json(run) == before);
  CHECK(result_table(run) == result_table(test::sample_run(4, 2)));
}

TEST_CASE("epochs of a history have the text in run.json that they had before", "[run_json]") {
  RunRecord run = test::full_run();
  run.epochs[0].rank_energy = {{NAN, 60}, {0.1 + 0.2, 0}};
  const std::string before = to_json(run);
  RunRecord back = run;
  back.epochs.clear();
  restore_history(back, join(history_json(run)), "x");
  back.total_seconds = run.total_seconds;
  REQUIRE(back.epochs.at(0).step_records.empty());
  const auto epochs = [](const std::string& text) {
    return nlohmann::ordered_json::parse(text).at("epochs").dump(1);
  };
  CHECK(epochs(to_json(back)) == epochs(before));
  CHECK(nlohmann::json::parse(to_json(back)).at("summary") ==
        nlohmann::json::parse(before).at("summary"));
  CHECK(epochs_csv(back.epochs, back, true) == epochs_csv(run.epochs, run, true));
}

TEST_CASE("a history that is written epoch by epoch is that of the whole run", "[run_json]") {
  RunRecord run = test::sample_run(4, 2);
  const std::vector<EpochRecord> all = run.epochs;
  run.epochs.clear();
  HistoryWriter writer;
  TextPieces last;
  for (const EpochRecord& epoch : all) {
    run.epochs.push_back(epoch);
    const TextPieces now = writer.text(run);
    CHECK(join(now) == join(history_json(run)));
    // The lines of the epochs before are those that were written before.
    for (std::size_t piece = 1; piece + 2 < last.size(); ++piece)
      CHECK((piece % 3 != 1 || now.at(piece) == last[piece]));
    last = now;
  }
}

TEST_CASE("run.json is written after each epoch, or seldom enough", "[run_json]") {
  WritePace pace(0, 100);
  CHECK(pace.due(1, 100));
  pace.wrote(1, 100, 101);  // a second, so that 50 seconds are long enough
  CHECK(pace.due(2, 101));
  pace.wrote(80, 200, 201);
  CHECK_FALSE(pace.due(83, 249));
  CHECK_FALSE(pace.due(82, 1e9));
  CHECK(pace.due(83, 250));
  CHECK_FALSE(pace.due(90, 202));
  CHECK(pace.due(91, 202));
  // However short they are: few epochs are written at once, many at growing intervals.
  std::size_t epochs = 0, written = 0;
  WritePace quick(0, 0);
  for (std::size_t epoch = 1; epoch <= 1000; ++epoch) {
    if (!quick.due(epoch, 0)) continue;
    CHECK((epoch > 8 || epochs == epoch - 1));
    quick.wrote(epochs = epoch, 0, 1);
    written += epoch;
  }
  CHECK(epochs > 1000 - 1000 / 8);
  CHECK(written < 10 * 1000);
  // Long epochs are all in it at first, and bytes do not grow with their square.
  WritePace slow(0, 0);
  epochs = written = 0;
  for (std::size_t epoch = 1; epoch <= 10'000; ++epoch) {
    const double now = 100.0 * double(epoch);
    CHECK((epoch - epochs <= 1 + epochs / 32));
    if (!slow.due(epoch, now)) continue;
    slow.wrote(epochs = epoch, now, now + 1);
    written += epoch;
  }
  CHECK(written < 34 * 10'000);
}

namespace {

/// As Console does at the end of each epoch.
void settle(RunRecord& run) {
  release_steps(run.epochs.back(), run);
  drop_rows(run.epochs);
}

/// A run of so many epochs, of which processes began those of `resumed`.
RunRecord settled_run(int ranks, std::size_t epochs, const std::set<std::size_t>& resumed) {
  RunRecord run = test::sample_run(ranks, 2);
  run.epochs.clear();
  for (std::size_t epoch = 1; epoch <= epochs; ++epoch) {
    run.epochs.push_back(test::sample_epoch(epoch, std::size_t(ranks)));
    run.epochs.back().rank_batches = run.rank_batches;
    if (resumed.contains(epoch)) run.epochs.back().resumed_at_step = 0;
    settle(run);
  }
  return run;
}

}  // namespace

TEST_CASE("sums of steps are kept of the epochs that count, and their figures stay", "[run_json]") {
  for (const std::set<std::size_t>& resumed :
       {std::set<std::size_t>{}, {3}, {4, 5}, {6}, {2, 3, 4, 5, 6}}) {
    for (std::size_t epochs = 1; epochs <= 6; ++epochs) {
      const RunRecord run = settled_run(3, epochs, resumed);
      RunRecord whole = test::sample_run(3, 2);
      whole.epochs.clear();
      for (std::size_t epoch = 1; epoch <= epochs; ++epoch) {
        whole.epochs.push_back(test::sample_epoch(epoch, 3));
        if (resumed.contains(epoch)) whole.epochs.back().resumed_at_step = 0;
      }
      CAPTURE(epochs, resumed.size());
      std::size_t with_sums = 0;
      for (const EpochRecord& epoch : run.epochs) with_sums += !epoch.sums.full.ranks.empty();
      CHECK(with_sums <= 2);
      CHECK(result_table(run) == result_table(whole));
      RunRecord back = test::sample_run(3, 2);
      back.epochs.clear();
      restore_history(back, join(history_json(run)), "x");
      CHECK(result_table(back) == result_table(whole));
      CHECK(join(history_json(back)) == join(history_json(run)));
    }
  }
}

TEST_CASE("run.json has the rows of few ranks, and of many the spreads alone", "[run_json]") {
  const auto last_epoch = [](int ranks) {
    return parsed(settled_run(ranks, 2, {})).at("epochs").at(1);
  };
  const json few = last_epoch(16);
  CHECK(few.at("ranks").size() == 16);
  CHECK(few.at("batch_per_rank").size() == 16);
  const json many = last_epoch(17);
  for (const char* name : {"ranks", "batch_per_rank"}) CHECK_FALSE(many.contains(name));
  CHECK_FALSE(many.at("energy").contains("per_rank"));
  CHECK(many.at("world_size") == 17);
  for (const json& epoch : {few, many}) {
    const json& over = epoch.at("over_ranks");
    const int ranks = epoch.at("world_size");
    CHECK(over.at("slowest_rank") == ranks - 1);
    for (const char* name : {"seconds", "useful_seconds", "all_reduce_wait", "core_share"})
      CHECK(over.at(name).at("count") == ranks);
    CHECK(over.at("useful_seconds").at("mean").get<double>() ==
          Approx(epoch.at("efficiency").at("useful_mean").get<double>()));
  }
}

TEST_CASE("what run.json and checkpoints have of an epoch does not grow with the ranks",
          "[run_json]") {
  const auto growth = [](int ranks) {
    const auto bytes = [ranks](std::size_t epochs) {
      const RunRecord run = settled_run(ranks, epochs, {});
      std::size_t lines = 0;  // of the history, without the sums, which two epochs have
      const TextPieces pieces = history_json(run);
      for (std::size_t piece = 1; piece < pieces.size(); piece += 3) lines += pieces[piece]->size();
      return std::pair(to_json(run).size(), lines);
    };
    const auto [file, history] = bytes(6);
    const auto [file_before, history_before] = bytes(4);
    CHECK(history - history_before < file - file_before);
    return (file - file_before) / 2;
  };
  const std::size_t of_few = growth(17);
  CHECK(of_few < 20'000'000 / 200);
  CHECK(growth(1024) < of_few + of_few / 4);
}

TEST_CASE("a run of many ranks goes on where its checkpoint has it", "[run_json]") {
  RunRecord run = settled_run(20, 3, {});
  RunRecord back = test::sample_run(20, 2);
  back.epochs.clear();
  restore_history(back, join(history_json(run)), "x");
  for (RunRecord* one : {&run, &back}) {
    one->epochs.push_back(test::sample_epoch(4, 20));
    one->epochs.back().resumed_at_step.reset();
    settle(*one);
    one->total_seconds = 5;
  }
  CHECK(back.epochs[1].ranks == 20);
  CHECK(parsed(back).at("epochs") == parsed(run).at("epochs"));
  CHECK(parsed(back).at("summary") == parsed(run).at("summary"));
}

TEST_CASE("ranks.csv has a row of each epoch and rank, and grows by epochs", "[run_json]") {
  const ScratchDirectory folder;
  const fs::path path = folder.write(kRanksCsvName, "of another run\n");
  RunRecord run = test::full_run();
  for (EpochRecord& epoch : run.epochs) {
    release_steps(epoch, run);
    append_ranks_csv(path, epoch, epoch.epoch == 1);
  }
  const std::string whole = content(path);
  const auto lines = split_words(whole, '\n');
  const std::size_t ranks = run.ranks.size();
  REQUIRE(lines.size() == 2 * ranks + 2);
  const auto names = split_words(lines[0]);
  for (std::size_t i = 0; i < 2 * ranks; ++i) {
    const auto cells = split_words(lines[i + 1]);
    REQUIRE(cells.size() == names.size());
    const EpochRecord& epoch = run.epochs[i / ranks];
    const RankFigures& figures = epoch.of_ranks[i % ranks];
    std::map<std::string, double> row;
    for (std::size_t n = 0; n < names.size(); ++n) row[names[n]] = std::stod(cells[n]);
    CHECK(row.at("epoch") == double(epoch.epoch));
    CHECK(row.at("rank") == double(i % ranks));
    CHECK(row.at("batch") == double(epoch.rank_batches[i % ranks]));
    CHECK(row.at("seconds") == figures.sums.seconds);
    CHECK(row.at("samples") == double(figures.sums.samples));
    for (std::size_t p = 0; p < kPhases; ++p)
      CHECK(row.at(std::string(kPhaseNames[p])) == figures.sums.phases[p]);
    CHECK(row.at("all_reduce_wait") == figures.sums.wait);
    CHECK(row.at("core_share") == figures.core_share);
    CHECK(row.at("full_steps") == double(figures.full_step.count));
    CHECK(row.at("full_step_seconds_max") == figures.full_step.max);
    CHECK(row.at("full_step_compute_seconds_median") == figures.full_compute.median);
    double joules = NAN;
    if (i % ranks < epoch.rank_energy.size()) joules = epoch.rank_energy[i % ranks].gpus;
    CHECK((row.at("joules") == joules || (std::isnan(row.at("joules")) && std::isnan(joules))));
  }
  copy_rows(path, path, 1);
  CHECK(content(path) == whole.substr(0, whole.find("\n2,") + 1));
  CHECK_THROWS_AS(append_ranks_csv(folder.path() / "none.csv", run.epochs[1], false), RunError);
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
    Ordered history = Ordered::parse(join(history_json(run)));
    for (Ordered& epoch : history.at("epochs")) CHECK(epoch.erase("sums") == 1);
    CHECK(history.at("epochs") == Ordered::parse(to_json(run)).at("epochs"));
  }
}

TEST_CASE("the history of a run comes back as it was", "[run_json]") {
  RunRecord run = test::sample_run();
  run.started_at = "2026-01-02T03:04:05Z";
  run.epochs[1].resumed_at_step = 2;
  run.epochs[2].test.reset();
  run.epochs[2].train.loss = std::numeric_limits<double>::quiet_NaN();  // of a timed run
  run.resumptions = {{"2026-01-02T04:04:05Z", "a/checkpoints/x", 1, 2, 3}};
  run.epochs[1].energy = {300, 60, double(run.epochs[1].train.samples)};
  const std::string history = join(history_json(run));
  RunRecord back = test::sample_run();
  back.epochs.clear();
  restore_history(back, history, "x");
  CHECK(back.started_at == run.started_at);
  REQUIRE(back.epochs.size() == 3);
  CHECK(back.epochs[0].ranks == 2);
  CHECK(back.epochs[0].seconds == run.epochs[0].seconds);
  CHECK(efficiency_seconds(back.epochs[0]).ideal_network ==
        efficiency_seconds(run.epochs[0]).ideal_network);
  CHECK(back.epochs[0].train.loss == run.epochs[0].train.loss);
  CHECK(back.epochs[0].test->accuracy == run.epochs[0].test->accuracy);
  CHECK(back.epochs[1].resumed_at_step == std::optional<std::size_t>(2));
  CHECK(back.epochs[1].energy.total() == 360);
  CHECK_FALSE(back.epochs[2].test);
  CHECK(std::isnan(back.epochs[2].train.loss));
  CHECK(back.resumptions.at(0).checkpoint == "a/checkpoints/x");
  CHECK(join(history_json(back)) == history);
  CHECK(result_table(back).find("Time of a") != std::string::npos);
  std::string older = history;  // of a version that did not write the field
  for (std::size_t at; (at = older.find("\"efficiency\":")) != older.npos;)
    older.erase(at, older.find('}', at) + 2 - at);
  RunRecord old;
  restore_history(old, older, "x");
  CHECK(std::isnan(efficiency_seconds(old.epochs.at(0)).parallel()));
  CHECK_THROWS_AS(restore_history(back, "{}", "x"), InputError);
  CHECK_THROWS_WITH(restore_history(back, history + "\n", "x"), "x: it goes on after its end");
  CHECK_THROWS_WITH(restore_history(back, std::string(100, '[') + "\n", "x"),
                    "x: it is no history of epochs");
  const std::string head = history.substr(0, history.find('\n') + 1);
  CHECK_THROWS_WITH(restore_history(back, head + std::string(100, '[') + "\n", "x"),
                    "x: its JSON has more than 32 levels");
  for (const std::size_t cut : {history.size() / 2, history.size() - 4, head.size()})
    CHECK_THROWS_WITH(restore_history(back, history.substr(0, cut), "x"), "x: it ends too early");
}

namespace {

/// A process that goes on with the run of `history` (empty: that begins it), takes epochs up to
/// `last` and writes a checkpoint. Every one takes ten seconds.
RunRecord next_process(const std::string& history, std::size_t last) {
  RunRecord run = test::sample_run();
  run.epochs.clear();
  if (!history.empty()) {
    restore_history(run, history, "x");
    const std::size_t before = run.epochs.size();
    run.resumptions.push_back({"2026-01-02T04:04:05Z", "c", before, 0, 2});
  }
  bool first = !history.empty();
  while (run.epochs.size() < last) {
    run.epochs.push_back(test::sample_epoch(run.epochs.size() + 1, 2));
    if (std::exchange(first, false)) run.epochs.back().resumed_at_step = 0;
  }
  run.checkpoints.push_back({"c", last, 0, 1000, 0.25, 0.5});
  run.audit.steps += 4;
  run.total_seconds = run.earlier_seconds + 10;
  return run;
}

/// The mean of a quantity over ranks and the full steps, or all steps, of epochs.
template <typename Value>
double mean_of_steps(std::size_t first, std::size_t last, bool full, Value value) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t epoch = first; epoch <= last; ++epoch) {
    for (const auto& steps : test::sample_epoch(epoch, 2).step_records) {
      for (const StepRecord& step : steps) {
        if (full && step.global_samples != 128) continue;
        sum += double(step.*value);
        ++count;
      }
    }
  }
  return sum / double(count);
}

/// `steady`: the first and the last epoch that count.
void check_whole_run(const RunRecord& run, std::pair<std::size_t, std::size_t> steady,
                     std::size_t processes) {
  const json j = parsed(run);
  const json& summary = j.at("summary");
  const auto [first, last] = steady;
  const std::size_t epochs = last - first + 1;
  CHECK(summary.at("total_seconds") == 10.0 * double(processes));
  CHECK(j.at("checkpoints").size() == processes);
  CHECK(j.at("audit").at("steps") == 4 * processes);
  double training = 0;
  for (std::size_t e = 1; e <= run.epochs.size(); ++e) training += test::sample_epoch(e, 2).seconds;
  CHECK(summary.at("training_seconds").get<double>() == Approx(training));
  CHECK_FALSE(summary.at("steady_includes_warm_up").get<bool>());
  const auto mean = [&](const char* part, const char* what) {
    return summary.at(part).at(what).at("mean").get<double>();
  };
  CHECK(summary.at("steady_full_step").at("count") == 2 * epochs);
  CHECK(mean("steady_full_step", "seconds") ==
        Approx(mean_of_steps(first, last, true, &StepRecord::seconds)));
  CHECK(summary.at("steady_full_step_seconds").at("count") == 2 * epochs);
  CHECK(summary.at("steady_communication").at("steps") == 3 * epochs);
  CHECK(mean("steady_communication", "busy") ==
        Approx(mean_of_steps(first, last, false, &StepRecord::all_reduce_busy)));
  CHECK(summary.at("steady_communication").at("buckets").size() == 0);
  CHECK(mean("steady_input", "prepare_busy") ==
        Approx(mean_of_steps(first, last, false, &StepRecord::prepare_busy)));
}

}  // namespace

TEST_CASE("run.json of a resumed run has the figures of the whole run", "[run_json]") {
  std::string history;
  for (std::size_t process = 1; process <= 4; ++process) {
    CAPTURE(process);
    // Each takes three epochs; the first of them warms up.
    const RunRecord run = next_process(history, 3 * process);
    check_whole_run(run, {3 * process - 1, 3 * process}, process);
    history = join(history_json(run));
    // Started again when all is done: the last steady epochs stay.
    const RunRecord again = next_process(history, 3 * process);
    check_whole_run(again, {3 * process - 1, 3 * process}, process + 1);
    CHECK_THAT(result_table(again),
               Catch::Contains("outcome ") &&
                   Catch::Contains("s in " + std::to_string(process + 1) + " processes"));
    // Of a process that only warmed up, too.
    check_whole_run(next_process(history, 3 * process + 1), {3 * process - 1, 3 * process},
                    process + 1);
  }
  RunRecord last = test::sample_run();
  last.epochs.clear();
  restore_history(last, history, "x");
  last.epochs.resize(2);  // both are the first of a process
  last.epochs[1].resumed_at_step = 2;
  CHECK(parsed(last).at("summary").at("steady_includes_warm_up") == true);
}

TEST_CASE("the history of an older version does not know the time of earlier processes",
          "[run_json]") {
  std::string history = join(history_json(test::sample_run()));
  const std::size_t from = history.find("\"checkpoints\":");
  history.erase(from, history.find("\"epochs\":[") - from);
  RunRecord run;
  restore_history(run, history, "x");
  CHECK(parsed(run).at("summary").at("total_seconds").is_null());
  CHECK_THAT(result_table(run), Catch::Contains("not known"));
}

TEST_CASE("a history whose sums are of other ranks is refused", "[run_json]") {
  std::string history = join(history_json(test::sample_run()));
  const std::string ranks = "\"full\":{\"ranks\":[";
  history.insert(history.find(ranks) + ranks.size(),
                 R"({"steps":1,"samples":1,"seconds":1,)"
                 R"("phases":[0,0,0,0,0,0,0,0],"busy":0,"wait":0,"add":0,"prepare":0,"copy":0,)"
                 R"("copy_bytes":0,"got":1,"wanted":1},)");
  RunRecord run;
  CHECK_THROWS_WITH(restore_history(run, history, "x"), "x: its sums are of other ranks");
}

TEST_CASE("a history of many epochs on many ranks is read as it was written", "[run_json]") {
  RunRecord run = test::sample_run();
  run.epochs.resize(1);
  std::istringstream lines(join(history_json(run)));
  std::string head, epoch;
  std::getline(lines, head);
  std::getline(lines, epoch);
  // Together more values than one JSON may have.
  epoch.back() = ',';
  epoch += "\"more\":[0";
  for (int i = 0; i < 500'000; ++i) epoch += ",1";
  epoch += "]}";
  std::string history = head + "\n" + epoch;
  for (int i = 1; i < 21; ++i) history += ",\n" + epoch;
  RunRecord back;
  restore_history(back, history + "\n]}\n", "x");
  CHECK(back.epochs.size() == 21);
}

TEST_CASE("steps.csv of a run that is resumed ends with the last epoch that counts", "[run_json]") {
  const ScratchDirectory folder;
  RunRecord run = test::sample_run();
  const fs::path path = folder.path() / "steps.csv";
  const std::string whole = steps_csv(run);
  copy_rows(folder.write("whole.csv", whole), path, 2);
  run.epochs.pop_back();
  CHECK(content(path) == steps_csv(run));
  copy_rows(folder.write("cut.csv", whole.substr(0, whole.size() - 3)), path, 3);
  CHECK(content(path) == whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1));
  std::string huge = whole;  // no epoch is called 1e300
  huge.replace(whole.find("\n1,") + 1, 1, "1e300");
  copy_rows(folder.write("huge.csv", huge), path, 3);
  CHECK(std::ranges::count(content(path), '\n') == std::ranges::count(whole, '\n') - 1);
  copy_rows(folder.write("whole.csv", whole), path, 2);
  copy_rows(path, path, 1);  // onto itself
  run.epochs.pop_back();
  CHECK(content(path) == steps_csv(run));
  copy_rows(folder.path() / "none.csv", path, 3);
  CHECK(content(path) == whole.substr(0, whole.find('\n') + 1));
}

TEST_CASE("epochs.csv of a run that is resumed is that of one that goes on", "[run_json]") {
  RunRecord run = test::sample_run();
  run.epochs[1].train.loss = NAN;
  run.epochs[1].test.reset();
  const std::string text = epochs_csv(run.epochs, run, true);
  CHECK(text == epochs_csv({}, run, true) + epochs_csv(run.epochs, run, false));
  const auto lines = split_words(text, '\n');
  REQUIRE(lines.size() == run.epochs.size() + 2);
  CHECK_THAT(lines[0], Catch::StartsWith("epoch,ranks,steps,samples,loss,accuracy,val_loss,"));
  const auto cells = split_words(lines[2]);
  CHECK(cells.size() == split_words(lines[0]).size());
  CHECK((cells[0] == "2" && cells[4].empty() && !cells[5].empty() && cells[6].empty()));
  RunRecord back;
  restore_history(back, join(history_json(run)), "x");
  CHECK(epochs_csv(back.epochs, back, true) == text);
}

TEST_CASE("steps.csv grows by epochs from a new file on", "[run_json]") {
  const ScratchDirectory folder;
  const RunRecord run = test::sample_run(3, 2);
  const fs::path path = folder.write("steps.csv", "of another run\n");
  for (const EpochRecord& epoch : run.epochs) append_steps_csv(path, epoch, epoch.epoch == 1);
  CHECK(content(path) == steps_csv(run));
  CHECK_THROWS_AS(append_steps_csv(folder.path() / "none.csv", run.epochs[1], false), RunError);
}

TEST_CASE("a cell of steps.csv is the shortest text of its number, whatever the line before had",
          "[run_json]") {
  const std::vector<double> awkward = {0,    -0.0, 1e-4,     1e-5,   1.0 / 3, -2.5e-310, 1e15,
                                       1e16, 1e22, 123456.0, 1e-300, NAN,     INFINITY};
  EpochRecord epoch;
  epoch.step_records.resize(3);
  for (std::size_t i = 0; i < awkward.size(); ++i) {
    StepRecord step;
    step.step = std::uint32_t(i + 1);
    step.train_loss = awkward[i];  // alike on all ranks
    step.norms = {1, double(1 + i % 2), awkward[i], 2};
    for (auto& rank : epoch.step_records) {
      step.seconds = awkward[(i * 5 + std::size_t(&rank - epoch.step_records.data())) % 13];
      step.copy_bytes = std::numeric_limits<std::uint64_t>::max() - i % 3;
      rank.push_back(step);
    }
  }
  RunRecord run;
  run.epochs.push_back(epoch);
  const auto lines = split_words(steps_csv(run), '\n');
  REQUIRE(lines.size() == 2 + 3 * awkward.size());
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
    const std::size_t rank = (i - 1) % 3;
    const StepRecord& s = epoch.step_records[rank][(i - 1) / 3];
    const std::string norms = rank > 0 ? ",,"
                                       : fmt::format("{},{},{}", s.norms.parts, s.norms.part_norm2,
                                                     s.norms.gradient_norm2);
    CHECK(lines[i] == fmt::format("0,{},{},0,0,{},0,0,0,0,0,0,0,0,0,0,{},0,0,0,0,{},0,{}", s.step,
                                  rank, s.seconds, s.train_loss, s.copy_bytes, norms));
  }
}
