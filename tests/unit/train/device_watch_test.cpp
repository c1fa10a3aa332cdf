#include <cmath>
#include <condition_variable>
#include <mutex>

#include <catch2/catch.hpp>

#include "rueda/display/model_summary.hpp"
#include "rueda/display/run_text.hpp"
#include "rueda/record/aggregation.hpp"
#include "rueda/record/run_json.hpp"
#include "tests/support/sample_run.hpp"
#include "train/step_recorder.hpp"

namespace rueda {
namespace {

using Catch::Contains;
constexpr double kNan = DeviceSample::kUnknown;

/// Counts its samples, and lets a test wait for them.
class Counting final : public DeviceMonitor {
 public:
  double energy_joules() override { return 7; }
  DeviceSample sample() override {
    const std::lock_guard lock(mutex_);
    ++count_;
    grown_.notify_all();
    return {.power_watts = double(count_)};
  }
  void await(int count) {
    std::unique_lock lock(mutex_);
    grown_.wait(lock, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable grown_;
  int count_ = 0;
};

TEST_CASE("device watch: samples from the beginning on, each handed out once", "[device]") {
  Counting monitor;
  const Stopwatch clock;
  DeviceWatch watch(monitor, clock, std::chrono::milliseconds(1));
  CHECK(watch.energy_joules() == 7);
  monitor.await(3);
  double power = 0;
  double seconds = 0;
  for (int turn = 0; turn < 2; ++turn) {
    monitor.await(int(power) + 2);
    for (const DeviceSample& sample : watch.take()) {
      CHECK(sample.power_watts == power + 1);
      CHECK(sample.seconds >= seconds);
      CHECK(std::isnan(sample.utilization));
      power = sample.power_watts;
      seconds = sample.seconds;
    }
    CHECK(power >= 1);
  }
}

/// Ranks 0 and 1 share a GPU, rank 2 has its own.
RunRecord watched_run() {
  RunRecord run = test::sample_run(3, 3);
  for (std::size_t rank = 0; rank < 3; ++rank) run.ranks[rank].uuid = rank < 2 ? "GPU-a" : "GPU-b";
  for (EpochRecord& epoch : run.epochs) epoch.energy_joules = {100, 100, 48};
  run.gpu_samples = {{{.seconds = 1, .utilization = 0.5, .power_watts = 200}},
                     {},
                     {{.seconds = 2, .utilization = 0.9, .power_watts = 400}}};
  return run;
}

TEST_CASE("device use: the energy of a shared GPU counts once", "[device]") {
  RunRecord run = watched_run();
  CHECK(epoch_joules(run.epochs[0], run) == 148);
  run.epochs[0].energy_joules[2] = kNan;
  CHECK_FALSE(epoch_joules(run.epochs[0], run).has_value());
  CHECK_FALSE(epoch_joules({}, run).has_value());
}

TEST_CASE("device use: the table shows what was told", "[device]") {
  const std::string text = result_table(watched_run());
  CHECK_THAT(text, Contains("utilisation, %  70.0  50.0  90.0"));
  CHECK_THAT(text, Contains("power, W         300   200   400"));
  CHECK_THAT(text, !Contains("temperature"));
  CHECK_THAT(text, Contains("444 J, 2.00 images/J (shared GPUs counted once)"));
  CHECK_THAT(result_table(test::sample_run()), !Contains("GPUs\n"));
}

TEST_CASE("device use: run.json has columns, and null for what is not told", "[device]") {
  const std::string text = to_json(watched_run());
  CHECK_THAT(text, Contains("\"images_per_joule\": 2.0"));
  CHECK_THAT(text, Contains("\"temperature_celsius\": [\n        null\n"));
  CHECK_THAT(text, Contains("\"gpu_samples\": [\n    {\n      \"seconds\": ["));
}

TEST_CASE("memory: a shortage names what is missing, where, and the remedies", "[memory]") {
  MemoryShortage shortage{512, 153'000'000'000, 139'000'000'000, 2, 464, "rank 3 (node17)"};
  CHECK(shortage_text(shortage, {"--on-oom halve", "--precision bf16"}) ==
        "out of memory: training with 512 images per rank and micro-batch takes 153 GB, and rank 3 "
        "(node17) has 139 GB free (a share of 2 ranks); the largest batch that fits is 464: give "
        "--batch-per-rank 464 or --batch-per-rank max, or --on-oom halve, or --precision bf16");
  shortage = {1, 5'000'000, 4'000'000, 1, 0, "rank 0 (a)"};
  CHECK(shortage_text(shortage, {"--precision bf16"}) ==
        "out of memory: training with 1 image per rank and micro-batch takes 5.00 MB, and rank 0 "
        "(a) has 4.00 MB free; not even one image fits: give --precision bf16");
  shortage.batch_is_fixed = true;
  CHECK_THAT(shortage_text(shortage, {"--recompute bn"}),
             Catch::Matchers::EndsWith("4.00 MB free; the global batch is that of the run which is "
                                       "resumed: resume on more ranks, or --recompute bn"));
}

}  // namespace
}  // namespace rueda
