#include <fstream>

#include <catch2/catch.hpp>
#include <malloc.h>
#include <unistd.h>

#include "rueda/backend/replica.hpp"
#include "rueda/reduce/tree_order.hpp"
#include "rueda/train/run_plan.hpp"
#include "tests/support/training_bench.hpp"

namespace rueda::test {
namespace {

/// A need of `fixed` bytes and `per_image` for each image, and a few more at every 8th.
MemoryNeed straight_line(std::size_t fixed, std::size_t per_image, std::size_t batch) {
  MemoryNeed need;
  need.parameters = fixed;
  need.activations = per_image * batch + batch % 8 * 3;
  return need;
}

TEST_CASE("largest batch: the last that fits", "[memory]") {
  for (const std::size_t fixed : {0, 1'000, 999'000}) {
    for (const std::size_t per_image : {10, 77, 100'000}) {
      CAPTURE(fixed, per_image);
      const auto need = [&](std::size_t batch) { return straight_line(fixed, per_image, batch); };
      const std::size_t batch = largest_batch(1'000'000, 1'000'000, need);
      CHECK((batch == 0 || need(batch).total() <= 1'000'000));
      CHECK(need(batch + 1).total() > 1'000'000);
    }
  }
}

TEST_CASE("largest batch: few plans are made, and none beyond the limit", "[memory]") {
  int plans = 0;
  // A line with a kink: what the first images say holds for no large batch.
  const auto need = [&](std::size_t batch) {
    ++plans;
    CHECK(batch <= 500'000);
    return straight_line(1'000, batch < 100 ? 1'000 : 1'500, batch);
  };
  const std::size_t batch = largest_batch(100'000'000, 500'000, need);
  CHECK(straight_line(1'000, 1'500, batch).total() <= 100'000'000);
  CHECK(straight_line(1'000, 1'500, batch + 1).total() > 100'000'000);
  CHECK(plans < 45);
  CHECK(largest_batch(100'000'000'000, 500'000, need) == 500'000);
}

TEST_CASE("training memory: what is there besides the replica", "[memory]") {
  const Graph graph = build_model("resnet20", 32, 10);
  MemoryNeed replica;
  replica.activations = 5;
  const MemoryNeed one = training_memory(replica, graph, 1, 100);
  CHECK(one.optimizer == 4 * graph.parameter_count());
  CHECK(one.accumulation == 0);
  CHECK(one.messages == 400);
  CHECK(one.of_batch() == 5);
  const MemoryNeed four = training_memory(replica, graph, 4, 0);
  CHECK(four.accumulation ==
        TreeOrder::slots_needed(4) * 4 * (graph.parameter_count() + graph.statistics_count() + 5));
}

// A sanitizer holds memory of its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/// Memory of this process that is really there, in bytes; what malloc keeps for later is given
/// back.
std::size_t resident_bytes() {
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  file >> size >> resident;
  return resident * std::size_t(sysconf(_SC_PAGESIZE));
}

/// What one training run adds to this process's memory.
double measured_bytes(const TrainConfig& config) {
  const std::size_t before = resident_bytes();
  SoloTraining training(config, {.train = 96, .test = 48});
  RunRecord run;
  const Stopwatch clock;
  const auto reducer = training.make_reducer();
  Trainer trainer(
      training.config, training.plan,
      {training.group, training.replica, *reducer, training.data, training.listener, clock});
  trainer.run(run);
  return double(resident_bytes() - before);
}

TEST_CASE("training memory: the plan is what training takes", "[memory]") {
  TrainConfig config = small_run();
  config.model = "resnet18";
  config.image_size = 32;
  config.epochs = 1;
  config.batch_per_rank = 48;
  mallopt(M_PERTURB, 0);   // Meson has malloc fill what it hands out, also what nobody touches
  measured_bytes(config);  // the first run also generates code, once per process
  for (const std::size_t accumulate : {1, 2}) {
    CAPTURE(accumulate);
    config.accumulate = accumulate;
    const Graph graph = build_model(config.model, config.image_size, kClasses);
    const auto backend = open_backend_under_test();
    const ReplicaPlan plan(graph, *backend, {48}, {48});
    const MemoryNeed need = training_memory(plan.memory(), graph, accumulate, 0);
    CHECK(need.total() > 450'000'000);
    CHECK(measured_bytes(config) / double(need.total()) == Approx(1.0).epsilon(0.02));
  }
}

#endif

}  // namespace
}  // namespace rueda::test
