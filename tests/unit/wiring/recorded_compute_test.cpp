#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "rueda/core/error.hpp"
#include "rueda/record/run_json.hpp"
#include "tests/support/sample_run.hpp"
#include "wiring/timed_setup.hpp"

using namespace rueda;
using Catch::Contains;

namespace {

/// The files of a run in a folder of their own.
class Recorded {
 public:
  explicit Recorded(const RunRecord& run)
      : folder_(std::filesystem::temp_directory_path() /
                ("rueda-recorded-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    write_run_json(folder_ / kRunJsonName, run);
    write_steps_csv(folder_ / kStepsCsvName, run);
  }
  ~Recorded() { std::filesystem::remove_all(folder_); }

  std::string json() const { return folder_ / kRunJsonName; }
  std::filesystem::path steps() const { return folder_ / kStepsCsvName; }

 private:
  std::filesystem::path folder_;
};

std::string refusal(const std::string& file, const std::string& model = "resnet20",
                    int image_size = 32) {
  try {
    recorded_image_seconds(file, model, image_size);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// Every full step of epoch e takes e milliseconds an image, every partial one less.
RunRecord plain_run() {
  RunRecord run = test::sample_run();
  for (EpochRecord& epoch : run.epochs) {
    for (auto& steps : epoch.step_records) {
      for (StepRecord& s : steps) {
        const double each = s.global_samples == run.global_batch ? 1e-3 * s.epoch : 1e-6;
        s.phases = {
            9, 9, 0.25 * each * s.samples, 0.25 * each * s.samples, 0.5 * each * s.samples, 9,
            9, 9};
      }
    }
  }
  return run;
}

}  // namespace

TEST_CASE("recorded compute: the median of full steps after the first epoch", "[timed]") {
  const RunRecord run = plain_run();
  REQUIRE(run.epochs.size() == 3);
  const Recorded files(run);
  CHECK(recorded_image_seconds(files.json(), "resnet20", 32) == Approx(2.5e-3));
}

TEST_CASE("recorded compute: the first epoch counts where it is the only one", "[timed]") {
  RunRecord run = plain_run();
  run.epochs.resize(1);
  const Recorded files(run);
  CHECK(recorded_image_seconds(files.json(), "resnet20", 32) == Approx(1e-3));
}

TEST_CASE("recorded compute: what does not fit is refused", "[timed]") {
  RunRecord run = plain_run();
  const Recorded files(run);
  CHECK_THAT(refusal("/no/such.json"), Contains("cannot be opened"));
  CHECK_THAT(refusal(files.steps()), Contains("no JSON from byte 1 on"));
  CHECK_THAT(refusal(files.json(), "resnet18"), Contains("it is of resnet20 for 32 pixels"));
  CHECK_THAT(refusal(files.json(), "resnet20", 64), Contains("not resnet20 for 64"));
  std::filesystem::remove(files.steps());
  CHECK_THAT(refusal(files.json()), Contains("no steps.csv in its directory"));
  run.config.backend = BackendChoice::timed;
  const Recorded timed_files(run);
  CHECK_THAT(refusal(timed_files.json()), Contains("computed nothing itself"));
}
