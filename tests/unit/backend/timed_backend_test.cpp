#include "backend/timed/timed_backend.hpp"

#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "../../support/training_bench.hpp"
#include "backend/replica.hpp"
#include "base/clock.hpp"
#include "model/flops.hpp"
#include "model/registry.hpp"
#include "rueda/train/timings.hpp"

using namespace rueda;
using namespace std::chrono_literals;
using rueda::test::SoloTraining;

namespace {

/// A test's own time. What comes after a wait is late, as sleeping always is.
struct FakeTime {
  SteadyTime now{};
  std::chrono::milliseconds late{0};
  std::vector<SteadyTime> waits;
};

class FakeBackend final : public timed::TimedBackend {
 public:
  FakeBackend(const TimedCompute& compute, FakeTime& time)
      : TimedBackend(compute, {1, 0}), time_(time) {}

 private:
  SteadyTime now() override { return time_.now; }
  void wait_until(SteadyTime moment) override {
    time_.waits.push_back(moment);
    if (moment > time_.now) time_.now = moment + time_.late;
  }

  FakeTime& time_;
};

struct Bench {
  explicit Bench(const TimedCompute& compute, const std::vector<std::size_t>& batches)
      : backend(compute, time), replica(graph, backend, batches, {}) {}

  ComputeSeconds compute(std::size_t batch) {
    const std::vector<std::uint32_t> indices(batch);
    const auto images = backend.hold({});
    replica.load({images.get(), {indices, {}, 1, 0}});
    return replica.compute(1);
  }

  FakeTime time;
  Graph graph = build_model("resnet20", 32, 10);
  FakeBackend backend;
  Replica replica;
};

// Whose time is whose. Every bound is from below, or follows from the clock never running
// backwards, so that a busy machine cannot fail these tests.

constexpr double kForward = 0.02;
constexpr double kBackward = 0.04;
constexpr auto kUpdate = 30ms;

/// 8 images take kForward and kBackward, an update of parameters kUpdate. Its
/// own time is never late: each wait sleeps for all that was asked for.
class SlowBackend final : public timed::TimedBackend {
 public:
  SlowBackend() : TimedBackend({.seconds = kForward + kBackward, .images = 8}, {}) {}
  void sgd_update(std::span<float>, std::span<float>, std::span<const float>,
                  const kernels::SgdStep&) override {
    std::this_thread::sleep_for(kUpdate);
  }
  void softmax_cross_entropy(const LossRequest& request) override { *request.sums = {1, 0}; }

 private:
  SteadyTime now() override { return now_; }
  void wait_until(SteadyTime moment) override {
    if (moment <= now_) return;
    std::this_thread::sleep_for(moment - now_);
    now_ = moment;
  }

  SteadyTime now_{};
};

TrainConfig slow_run() {
  TrainConfig config;
  config.training.epochs = 1;
  config.batch.global = 8;
  config.checks.replicas = CheckReplicas::off;
  return config;
}

}  // namespace

TEST_CASE("timed: a third of the time is forward's, the rest backward's", "[timed]") {
  Bench bench({0.3, 64}, {64, 16});
  const auto full = bench.compute(64);
  CHECK(full.forward == Approx(0.1));
  CHECK(full.backward == Approx(0.2));
  const auto part = bench.compute(16);
  CHECK(part.forward == Approx(0.025));
  CHECK(part.backward == Approx(0.05));
}

TEST_CASE("timed: what one wait takes too long is not added to the next", "[timed]") {
  Bench bench({0.3, 64}, {64});
  bench.time.late = std::chrono::milliseconds(1);
  bench.compute(64);
  const auto full = bench.compute(64);
  CHECK(full.forward + full.backward == Approx(0.301).margin(1e-6));
}

TEST_CASE("timed: layers wait in proportion to their FLOPs", "[timed]") {
  Bench bench({0.3, 64}, {64});
  const SteadyTime begin = bench.time.now;
  bench.compute(64);
  double share = 0;
  for (NodeId node = 1; node <= bench.graph.logits(); ++node) {
    share += double(forward_flops(bench.graph, node)) / double(forward_flops(bench.graph));
    const auto wait = std::size_t(node - 1);
    CHECK(seconds_between(begin, bench.time.waits.at(wait)) == Approx(0.1 * share).margin(1e-6));
  }
}

TEST_CASE("timed: buckets are announced once each, and nothing is changed", "[timed]") {
  Bench bench({0.3, 8}, {8});
  bench.replica.initialise(7);
  const auto before = bench.backend.hash(bench.replica.parameters());
  const std::size_t count = bench.replica.gradients().size();
  bench.replica.announce_buckets({count / 2, count});
  bench.compute(8);
  CHECK(bench.backend.announced(0) == 1);
  CHECK(bench.backend.announced(1) == 1);
  bench.backend.sgd_update(bench.replica.parameters(), {}, {}, {});
  CHECK(bench.backend.hash(bench.replica.parameters()) == before);
}

TEST_CASE("timed: samples are counted, loss and accuracy do not exist", "[timed]") {
  Bench bench({0.3, 8}, {8});
  bench.compute(8);
  REQUIRE(bench.replica.read_step_sums());
  const StepSums& sums = bench.replica.step_sums();
  CHECK(sums.samples == 8);
  CHECK(sums.nonfinite == 0);
  CHECK((std::isnan(sums.loss) && std::isnan(sums.correct)));
  CHECK(bench.replica.was_finite());
}

TEST_CASE("timed: only parameters and gradients take memory", "[timed]") {
  Bench bench({0.3, 64}, {64});
  CHECK(bench.replica.memory().of_batch() < 1000);
}

TEST_CASE("timed: jitter is drawn anew for each rank and micro-batch, and the device says so",
          "[timed]") {
  double least = 2, most = 0;
  for (std::uint64_t step = 1; step <= 1000; ++step) {
    const double factor = timed::jitter_factor({1, 0}, step, 20);
    CHECK(factor == timed::jitter_factor({1, 0}, step, 20));
    CHECK(factor != timed::jitter_factor({1, 1}, step, 20));
    CHECK(factor != timed::jitter_factor({2, 0}, step, 20));
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  CHECK((least >= 0.8 && least < 0.81));
  CHECK((most <= 1.2 && most > 1.19));
  CHECK(timed::jitter_factor({1, 0}, 1, 0) == 1);

  Bench bench({0.3, 64, 20}, {64});
  const auto first = bench.compute(64);
  const auto second = bench.compute(64);
  const double drawn = timed::jitter_factor({1, 0}, 2, 20);
  CHECK(second.forward + second.backward == Approx(0.3 * drawn).margin(1e-6));
  CHECK(first.forward != second.forward);
  CHECK(Bench({0.3, 64, 20}, {64}).backend.device() == "none: waits 300 ms for 64 images +- 20 %");
}

TEST_CASE("The time of each phase is booked on it", "[timed][booking]") {
  TrainConfig config = slow_run();
  config.sums.bucket_mb = 0.4;
  SoloTraining training(config, {.train = 16, .test = 1}, std::make_unique<SlowBackend>());
  training.reduce.takes = 5ms;
  const double sums = 0.005 * double(training.make_reducer()->buckets());
  CHECK(sums >= 0.01);
  const RunRecord run = training.train();
  for (const StepRecord& step : run.epochs[0].step_records[0]) {
    const auto seconds = [&](Phase phase) { return step.phases[std::size_t(phase)]; };
    CHECK(seconds(Phase::forward) >= 0.99 * kForward);
    CHECK(seconds(Phase::backward) >= 0.99 * kBackward);
    CHECK(seconds(Phase::optimizer) >= std::chrono::duration<double>(kUpdate).count());
    CHECK(seconds(Phase::all_reduce) >= 2 * sums);
    CHECK(step.all_reduce_busy >= 2 * sums);
    CHECK(step.all_reduce_add >= sums);
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

TEST_CASE("A checkpoint knows the epoch's seconds, and is no part of them", "[timed][booking]") {
  TrainConfig config = slow_run();
  config.checkpoints.every = {1, CheckpointEvery::Unit::steps};
  SoloTraining training(config, {.train = 16, .test = 1}, std::make_unique<SlowBackend>());
  std::vector<double> saved;
  training.on_save = [&](const TrainPosition& at) {
    saved.push_back(at.seconds);
    std::this_thread::sleep_for(kUpdate);
  };
  const Stopwatch watch;
  const RunRecord run = training.train();
  const double all = watch.seconds();
  REQUIRE(saved.size() == 3);  // after both steps, and at the end
  const double pauses = 3 * std::chrono::duration<double>(kUpdate).count();
  CHECK(run.epochs[0].seconds + pauses <= all);
  CHECK(saved[0] >= 0.99 * (kForward + kBackward));
  CHECK(saved[1] >= saved[0] + 0.99 * (kForward + kBackward));
}
