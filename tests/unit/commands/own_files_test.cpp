#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "commands/doctor/host_notes.hpp"
#include "commands/synth.hpp"
#include "tests/support/common.hpp"

namespace rueda::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("synth --overwrite replaces the files of a set, and none that is called alike",
          "[synth]") {
  const ScratchDirectory scratch;
  SynthRequest request;
  request.out = scratch.path().string();
  request.drawing.train = request.drawing.test = 10;
  request.overwrite = true;
  for (const char* name : {"data_batch_notes.txt", "test_batch.png", "batches.meta.py",
                           "data_batch_1.bin", "data_batch_17", "batches.meta"})
    scratch.write(name, "mine");
  std::ostringstream out;
  run_command(request, out);
  for (const char* name : {"data_batch_notes.txt", "test_batch.png", "batches.meta.py"})
    CHECK(fs::exists(scratch.path() / name));
  CHECK_FALSE(fs::exists(scratch.path() / "data_batch_17"));
}

TEST_CASE("doctor: the folder of a job's notes keeps what somebody else put there", "[doctor]") {
  const ScratchDirectory scratch;
  const fs::path before = fs::current_path();
  fs::current_path(scratch.path());
  const std::map<std::string, const char*> job = {
      {"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"},
      {"SLURM_NTASKS", "2"}, {"SLURM_PROCID", "0"},  {"SLURM_LOCALID", "0"}};
  const doctor::HostNotes notes([&job](const char* name) {
    const auto found = job.find(name);
    return found == job.end() ? nullptr : found->second;
  });
  const fs::path folder = ".rueda-doctor-7.0";
  notes.put({});
  REQUIRE(fs::exists(folder / "host-0"));
  notes.remove();
  CHECK_FALSE(fs::exists(folder));
  notes.put({});
  scratch.write(folder / "thesis", "mine");
  notes.remove();
  CHECK(fs::exists(folder / "thesis"));
  CHECK_FALSE(fs::exists(folder / "host-0"));
  fs::current_path(before);
}

}  // namespace
}  // namespace rueda::test
