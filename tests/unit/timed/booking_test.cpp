#include <chrono>
#include <thread>

#include <catch2/catch.hpp>

#include "rueda/train/timings.hpp"
#include "tests/support/training_bench.hpp"
#include "timed/timed_backend.hpp"

// Whose time is whose. Every bound is from below, or follows from the clock never running
// backwards, so that a busy machine cannot fail these tests.

using namespace rueda;
using rueda::test::SoloTraining;
using namespace std::chrono_literals;

namespace {

constexpr double kForward = 0.02;
constexpr double kBackward = 0.04;
constexpr auto kUpdate = 30ms;

/// Its own time, which is never late: each wait sleeps for all that was asked for.
class FullSleep final : public timed::Timepiece {
 public:
  timed::Time now() override { return now_; }
  void wait_until(timed::Time moment) override {
    if (moment <= now_) return;
    std::this_thread::sleep_for(moment - now_);
    now_ = moment;
  }

 private:
  timed::Time now_{};
};

/// 8 images take kForward and kBackward, an update of parameters kUpdate.
class SlowBackend final : public timed::TimedBackend {
 public:
  SlowBackend()
      : TimedBackend({.seconds = kForward + kBackward, .images = 8}, {},
                     std::make_unique<FullSleep>()) {}
  void sgd_update(std::span<float>, std::span<float>, std::span<const float>,
                  const kernels::SgdStep&) override {
    std::this_thread::sleep_for(kUpdate);
  }
  void softmax_cross_entropy(const LossRequest& request) override { *request.sums = {1, 0}; }
};

TrainConfig slow_run() {
  TrainConfig config;
  config.epochs = 1;
  config.global_batch = 8;
  config.check_replicas = CheckReplicas::off;
  return config;
}

}  // namespace

TEST_CASE("The time of each phase is booked on it", "[timed][booking]") {
  SoloTraining training(slow_run(), {.train = 16, .test = 1}, std::make_unique<SlowBackend>());
  const RunRecord run = training.train();
  for (const StepRecord& step : run.epochs[0].step_records[0]) {
    const auto seconds = [&](Phase phase) { return step.phases[static_cast<std::size_t>(phase)]; };
    CHECK(seconds(Phase::forward) >= 0.99 * kForward);
    CHECK(seconds(Phase::backward) >= 0.99 * kBackward);
    CHECK(seconds(Phase::optimizer) >= std::chrono::duration<double>(kUpdate).count());
  }
}

TEST_CASE("Evaluation is no part of an epoch's seconds", "[timed][booking]") {
  SoloTraining training(slow_run(), {.train = 16, .test = 160}, std::make_unique<SlowBackend>());
  const Stopwatch watch;
  const RunRecord run = training.train();
  const double all = watch.seconds();
  const EpochRecord& epoch = run.epochs[0];
  REQUIRE(epoch.test);
  CHECK(epoch.test->seconds >= 0.99 * 160 / 8 * kForward);  // else the test would see nothing
  CHECK(epoch.seconds + epoch.test->seconds <= all);
  double steps = 0;
  for (const StepRecord& step : epoch.step_records[0]) steps += step.seconds;
  CHECK(epoch.seconds >= steps);
}
