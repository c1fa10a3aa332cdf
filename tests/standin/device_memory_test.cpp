// What training holds on a device, and that no step takes more: the stand-in counts.
#include <catch2/catch.hpp>

#include "../support/training_bench.hpp"
#include "rueda/train/training_memory.hpp"
#include "standin.hpp"

namespace rueda::test {
namespace {

/// Notes after each step how much has been handed out until then.
struct Counter final : TrainObserver {
  void on_step(const StepProgress&) override { allocations.push_back(standin_allocations()); }
  void on_epoch(const RunRecord&) override {}
  std::vector<std::size_t> allocations;
};

TrainConfig memory_run(std::size_t accumulate, Precision precision) {
  TrainConfig config = small_run();
  config.batch_per_rank = 24;
  config.accumulate = accumulate;
  config.precision = precision;
  return config;
}

void train(SoloTraining& training, TrainObserver& observer) {
  RunRecord run;
  const Stopwatch clock;
  Trainer trainer(
      training.config, training.plan,
      {training.group, training.replica, training.reduce, training.data, observer, clock});
  trainer.run(run);
}

TEST_CASE("a step allocates nothing on the device", "[backend][memory]") {
  const std::size_t accumulate = GENERATE(1U, 2U);
  SoloTraining training(memory_run(accumulate, Precision::fp32));
  Counter counter;
  train(training, counter);
  REQUIRE(counter.allocations.size() >= 4);
  for (std::size_t step = 2; step < counter.allocations.size(); ++step) {
    CHECK(counter.allocations[step] == counter.allocations[1]);
  }
  CHECK(standin_overruns() == 0);
}

std::size_t image_bytes(const ImageSet& set) { return set.pixels.size() + set.labels.size(); }

/// The most that a run held on the device, without the images.
double peak_of(const TrainConfig& config) {
  const std::size_t before = standin_bytes_in_use();
  standin_reset_peak();
  SoloTraining training(config, {.train = 96, .test = 48});
  Counter counter;
  train(training, counter);
  const std::size_t images = image_bytes(training.data.train) + image_bytes(training.data.test);
  return static_cast<double>(standin_peak_bytes() - before - images);
}

TEST_CASE("training memory: the plan is what training holds on the device", "[backend][memory]") {
  const Precision precision = GENERATE(Precision::fp32, Precision::bf16);
  for (const std::size_t accumulate : {1U, 2U}) {
    CAPTURE(accumulate, to_string(precision));
    const TrainConfig config = memory_run(accumulate, precision);
    const Graph graph = build_model(config.model, config.image_size, kClasses);
    const auto backend = open_backend_under_test(precision);
    const ReplicaPlan plan(graph, *backend, {24}, {24});
    const MemoryNeed need = training_memory(plan.memory(), graph, accumulate, 0);
    CHECK(peak_of(config) / static_cast<double>(need.total()) == Approx(1.0).epsilon(0.02));
  }
}

}  // namespace
}  // namespace rueda::test
