#include "written_files.hpp"

#include <sstream>
#include <vector>

#include <catch2/catch.hpp>

#include "base/text.hpp"
#include "record/run_json.hpp"
#include "tests/support/sample_run.hpp"

namespace rueda::test {
namespace {

/// Rows by the names of their columns; an empty cell is null.
WrittenFiles rows_of(const std::string& csv) {
  WrittenFiles rows = WrittenFiles::array();
  std::istringstream lines(csv);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    const auto cells = split_words(line, ',');
    if (names.empty()) {
      names = cells;
      continue;
    }
    REQUIRE(cells.size() == names.size());
    rows.push_back(WrittenFiles::object());
    for (std::size_t i = 0; i < names.size(); ++i)
      rows.back()[names[i]] = cells[i].empty() ? WrittenFiles() : WrittenFiles(std::stod(cells[i]));
  }
  return rows;
}

}  // namespace

RunRecord full_run() {
  RunRecord run = sample_run(int(kWrittenRanks), 2);
  run.epochs.resize(2);
  for (EpochRecord& epoch : run.epochs) {
    epoch.rank_batches = run.rank_batches;
    epoch.bookkeeping_seconds = 0.25;
    epoch.clock_seconds = 0.125;
  }
  run.ranks[1].uuid = "GPU-8f2c0001-a00b-4c0d-9eff-102030405060";
  run.timed = TimedCompute{0.25, 64, 5, {1, 1.5}, "an/earlier/run"};
  run.transport = "staged";
  run.all_reduce_details = "by measured costs";
  run.reduce_table = "doubling:65536,ring";
  run.bucket_mb = 1.5;
  run.overlaps = true;
  run.bucket_bytes = {1'000'000};
  run.resumptions = {{"2026-01-02T04:04:05Z", "a/checkpoints/x", 1, 2, 3}};
  run.checkpoints = {{"a/checkpoints/y", 1, 0, 2'200'000, 0.125, 0.5}};
  run.longest_gap = StepGap{8.5, 2, 3, 1, std::size_t(Phase::forward), 0.25, true};
  run.longest_gap->waited = FirstWait{2, 1, 7.5, true};
  run.audit = {2, {"a finding"}};
  run.gpu_samples = {{{.seconds = 1, .utilization = 0.5, .power_watts = 250}}, {}};
  EpochRecord& second = run.epochs[1];
  second.resumed_at_step = 2;
  second.test.reset();
  second.rank_energy = {{100, 60}, {200, 0}};
  second.energy = {300, 60, 296};
  second.bucket_records = {{{2, 1, 0, 0, 1.0, 1.5, 2.0, 0.25, 0.125, 0.0625},
                            {2, 1, 1, 0, 1.25, 2.0, 2.5, 0.25, 0.125, 0.0625}},
                           {{2, 1, 0, 0, 1.0, 1.75, 2.0, 0.25, 0.125, 0.0625}}};
  run.epochs[0].gradient_noise = GradientNoise{.gradient_norm2 = -0.5,
                                               .variance = 12,
                                               .batch = 128,
                                               .parts = 4,
                                               .steps = 2,
                                               .reason = NoNoiseScale::few_steps};
  second.gradient_noise = GradientNoise{40, 30, 60, 0.25, 10, 128, 4, 300, {}};
  for (auto& steps : second.step_records) steps.front().norms = {128, 4, 1.5, 0.75};
  run.clock_error = 0.0005;
  run.profile = {32,
                 Roof{2e12, 1e11},
                 {{.seconds = {0.5, 0.25, 1}, .layer = "conv", .flops = 1e6, .bytes = 2e6}}};
  run.trace.resize(2);
  run.trace[0] = {
      {.begin = 1.5, .end = 2.5, .step = 3, .bucket = 1, .part = 0, .to = 1, .from = 3}};
  run.trace[0][0].set_name("sum");
  run.trace[1] = {{.begin = 1.75, .end = 1.875, .step = 4, .lane = TraceLane::all_reduce}};
  return run;
}

WrittenFiles files_of(const RunRecord& run) {
  WrittenFiles files;
  files["run.json"] = WrittenFiles::parse(to_json(run));
  files["run.json"].erase("config");
  files["steps.csv"] = rows_of(steps_csv(run));
  files["epochs.csv"] = rows_of(epochs_csv(run.epochs, run, true));
  files["trace"] = WrittenFiles::parse(to_trace_json(run));
  return files;
}

const WrittenFiles& value_at(const WrittenFiles& json, const std::string& path) {
  return json.at(WrittenFiles::json_pointer(path));
}

double number_at(const WrittenFiles& json, const std::string& path) {
  return value_at(json, path).get<double>();
}

}  // namespace rueda::test
