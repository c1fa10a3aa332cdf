#include <string>

#include <catch2/catch.hpp>

#include "rueda/record/run_json.hpp"
#include "tests/support/sample_run.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rueda;

namespace {

/// The texts as they are to stay, byte for byte, a line of `=====` after each.
const std::string kGolden =
#include "golden.txt"
    ;

/// A run that has something of everything that is written down.
RunRecord full_run() {
  RunRecord run = test::sample_run();
  run.epochs.resize(2);
  run.ranks[1].uuid = "GPU-8f2c0001-a00b-4c0d-9eff-102030405060";
  run.timed = TimedCompute{0.25, 64, 5, "an/earlier/run"};
  run.reduce_table_hash = "00c0ffee";
  run.config.reduce_table = "rows.json";
  run.bucket_bytes = {1'000'000};
  run.resumptions = {{"2026-01-02T04:04:05Z", "a/checkpoints/x", 1, 2, 3}};
  run.checkpoints = {{"a/checkpoints/y", 1, 0, 2'200'000, 0.125, 0.5}};
  run.gpu_samples = {{{.seconds = 1, .utilization = 0.5, .power_watts = 250}}, {}};
  run.epochs[1].resumed_at_step = 2;
  run.epochs[1].test.reset();
  run.epochs[1].energy_joules = {100, 200};
  run.epochs[1].bucket_records = {{{2, 1, 0, 0, 1.0, 1.5, 2.0, 0.25, 0.125, 0.0625},
                                   {2, 1, 1, 0, 1.25, 2.0, 2.5, 0.25, 0.125, 0.0625}}};
  run.trace = {{{.begin = 1.5, .end = 2.5, .step = 3, .bucket = 1, .part = 0, .to = 1, .from = 1}}};
  run.trace[0][0].set_name("sum");
  return run;
}

/// run.json but its options, which have tests of their own.
std::string run_json(const RunRecord& run) {
  std::string text = to_json(run);
  const std::size_t begin = text.find("  \"config\": {");
  return text.erase(begin, text.find("  \"model\": {") - begin);
}

std::string steps_csv(const RunRecord& run) {
  const test::ScratchDirectory folder;
  write_steps_csv(folder.path() / "steps.csv", run);
  return test::content(folder.path() / "steps.csv");
}

}  // namespace

TEST_CASE("what a run writes down is the same, byte for byte", "[run_json][golden]") {
  const RunRecord run = full_run();
  std::string text;
  for (const std::string& piece :
       {run_json(run), join(history_json(run)), steps_csv(run), to_trace_json(run)}) {
    text += piece + "=====\n";
  }
  CHECK(text == kGolden);
}
