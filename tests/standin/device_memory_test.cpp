// What training holds on a device, and that no step takes more: the stand-in counts.
#include <array>
#include <cmath>
#include <utility>

#include <catch2/catch.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "standin.hpp"
#include "tests/support/training_bench.hpp"
#include "train/run_plan.hpp"

namespace rueda::test {
namespace {

/// Notes after each step how much has been handed out until then.
struct Counter final : TrainObserver {
  void on_step(const TrainPosition&, std::span<const RankTimes>) override {
    allocations.push_back(standin_memory().allocations);
  }
  void on_epoch(RunRecord&) override {}
  std::vector<std::size_t> allocations;
};

TrainConfig memory_run(std::size_t accumulate, Precision precision) {
  TrainConfig config = small_run();
  config.batch.per_rank = 24;
  config.batch.accumulate = accumulate;
  config.device.precision = precision;
  return config;
}

void train(SoloTraining& training, TrainObserver& observer) {
  RunRecord run;
  const Stopwatch clock;
  const auto reducer = training.make_reducer();
  TrainLoop({training.config, training.plan, training.group, training.replica, *reducer,
             training.data, observer, clock})
      .run(run);
}

TEST_CASE("a step allocates nothing on the device", "[backend][memory]") {
  const std::size_t accumulate = GENERATE(1U, 2U);
  SoloTraining training(memory_run(accumulate, Precision::fp32));
  Counter counter;
  train(training, counter);
  REQUIRE(counter.allocations.size() >= 4);
  for (std::size_t step = 2; step < counter.allocations.size(); ++step)
    CHECK(counter.allocations[step] == counter.allocations[1]);
  CHECK(standin_memory().overruns == 0);
}

/// An all-reduce that takes `floats` of the device for its messages, as the ring does.
struct ScratchReduce final : AllReduce {
  ScratchReduce(ReduceDevice& on, std::size_t count) : device(on), floats(count) {}
  std::string_view name() const override { return "none, with messages"; }
  Event sum(std::span<float>, Event ready, ReduceJournal&) override {
    device.scratch(floats);
    return ready;
  }
  std::size_t scratch_floats(std::size_t) const override { return floats; }
  ReduceDevice& device;
  std::size_t floats;
};

/// One whose messages are as long as the slice.
struct LongMessages final : AllReduce {
  explicit LongMessages(ReduceDevice& on) : device(on) {}
  std::string_view name() const override { return "none, with long messages"; }
  Event sum(std::span<float> slice, Event ready, ReduceJournal&) override {
    device.scratch(slice.size());
    return ready;
  }
  std::size_t scratch_floats(std::size_t length) const override { return length; }
  ReduceDevice& device;
};

TEST_CASE("the warm-up takes scratch memory once, however long the buckets are",
          "[backend][memory]") {
  SoloTraining training(memory_run(1, Precision::fp32));
  LongMessages reduce(training.backend->reduce_device());
  const std::size_t all = training.replica.gradients().size();
  GradientReducer reducer({training.replica, reduce, {10, 1000, all}});
  const std::size_t before = standin_memory().allocations;
  reducer.warm_up();
  CHECK(standin_memory().allocations == before + 1);
}

struct Case {
  const char* model;
  int image_size;
  std::size_t batch;
  std::size_t accumulate;
  Precision precision;
};

// Blocks of device memory are rounded up to 256 bytes, and a replica has a few numbers besides.
constexpr double kRounding = 40 * 256;

TEST_CASE("training memory: the plan is what training holds on the device", "[backend][memory]") {
  const Case c = GENERATE(
      Case{"resnet20", 8, 24, 1, Precision::fp32}, Case{"resnet20", 8, 24, 2, Precision::fp32},
      Case{"resnet20", 8, 24, 2, Precision::bf16}, Case{"resnet50v2", 32, 2, 1, Precision::bf16});
  CAPTURE(c.model, c.accumulate, to_string(c.precision));
  constexpr std::size_t messages = 100'000;
  TrainConfig config = small_run();
  config.model.name = c.model;
  config.model.image_size = c.image_size;
  config.batch.per_rank = c.batch;
  config.batch.accumulate = c.accumulate;
  config.device.precision = c.precision;
  config.training.epochs = 1;
  config.training.eval_every = 0;  // untrained deep networks overflow with their running statistics
  const std::size_t images = 2 * c.batch * c.accumulate;
  const std::size_t before = standin_memory().in_use;
  standin_reset_peak();
  MemoryNeed need;
  {
    SoloTraining training(config, {.train = images, .test = c.batch});
    need = training_memory(training.replica.memory(), training.graph, c.accumulate, messages,
                           training.backend->image_bytes(images + c.batch));
    ScratchReduce reduce(training.backend->reduce_device(), messages);
    Counter counter;
    RunRecord run;
    const Stopwatch clock;
    const auto reducer = std::make_unique<GradientReducer>(
        ReducerParts{training.replica, reduce, plan_buckets(training.graph, {.most_bytes = 0})});
    TrainLoop trainer({config, training.plan, training.group, training.replica, *reducer,
                       training.data, counter, clock});
    trainer.run(run);
  }
  const auto peak = double(standin_memory().peak - before);
  const auto planned = double(need.total());
  CHECK(peak / planned == Approx(1.0).epsilon(0.02));
  CHECK(std::abs(peak - planned) <= kRounding);
}

TEST_CASE("a backend that forgets its plans gives their memory back", "[backend][memory]") {
  const Graph graph = build_model("resnet20", 8, kClasses);
  const auto backend = open_backend_under_test(Precision::bf16);
  const std::size_t before = standin_memory().in_use;
  const auto need_of = [&](std::size_t batch) {
    backend->forget_plans();
    return ReplicaPlan(graph, *backend, {batch}, {batch}).memory().total();
  };
  const std::size_t small = need_of(8);
  CHECK(need_of(64) > small);
  CHECK(need_of(8) == small);
  {
    Replica replica(graph, *backend, {8}, {8});
    CHECK(standin_memory().in_use > before);
  }
  backend->forget_plans();
  CHECK(standin_memory().in_use == before);
}

TEST_CASE("the device itself finds parameters that are not finite", "[backend][memory]") {
  const Graph graph = build_model("resnet20", 8, kClasses);
  const auto backend = open_backend_under_test();
  Replica replica(graph, *backend, {}, {}, Recompute::none);
  replica.initialise(1);
  const std::size_t before = standin_memory().to_host;
  CHECK(replica.parameters_are_finite());
  CHECK(standin_memory().to_host - before <= sizeof(std::uint64_t));
  for (const std::size_t place : {std::size_t{0}, graph.parameter_count() - 1}) {
    for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
      const auto parameter = replica.parameters().subspan(place, 1);
      backend->upload(parameter, std::array{bad});
      CHECK_FALSE(replica.parameters_are_finite());
      backend->upload(parameter, std::array{1.0F});
      CHECK(replica.parameters_are_finite());
    }
  }
}

TEST_CASE("a shortage of memory throws OutOfMemory, and the device works on", "[backend][memory]") {
  const auto backend = open_backend_under_test();
  const std::size_t free = backend->free_memory();
  CHECK_THROWS_AS(backend->allocate(free + 1), OutOfMemory);
  const auto memory = backend->allocate(1000);
  CHECK(backend->free_memory() == free - 1024);
  backend->zero(memory.floats());
  const auto [half, other] = std::pair(memory.floats().first(100), memory.floats().last(100));
  CHECK_NOTHROW(backend->reduce_device().add(half, other));
  backend->finish();
}

}  // namespace
}  // namespace rueda::test
