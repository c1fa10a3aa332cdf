#include "rueda/train/run_plan.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"

using namespace rueda;

namespace {

TrainConfig config_with(std::size_t batch_per_rank, std::size_t accumulate) {
  TrainConfig config;
  config.batch_per_rank = batch_per_rank;
  config.accumulate = accumulate;
  return config;
}

}  // namespace

TEST_CASE("The global batch counts ranks and micro-batches", "[run_plan]") {
  const RunPlan plan = plan_run(config_with(32, 3), 4, 50'000);
  CHECK(plan.global_batch == 384);
  CHECK(plan.sampler.parts == 12);
  CHECK(plan.schedule.steps_per_epoch == 131);  // ceil(50000 / 384)
  CHECK(plan.virtual_rank(2, 1) == 7);
}

TEST_CASE("Linear scaling goes by the global batch over the base batch", "[run_plan]") {
  TrainConfig config = config_with(64, 1);
  config.lr = 0.1;
  config.base_batch = 128;
  CHECK(plan_run(config, 1, 1000).learning_rate == Approx(0.05));
  CHECK(plan_run(config, 4, 1000).learning_rate == Approx(0.2));
  config.scale_lr = ScaleLr::none;
  CHECK(plan_run(config, 4, 1000).learning_rate == Approx(0.1));
}

TEST_CASE("One rank with N micro-batches plans like N ranks", "[run_plan]") {
  const RunPlan many = plan_run(config_with(20, 1), 3, 500);
  const RunPlan one = plan_run(config_with(20, 3), 1, 500);
  CHECK(many.global_batch == one.global_batch);
  CHECK(many.learning_rate == one.learning_rate);
  const Sampler a(many.sampler);
  const Sampler b(one.sampler);
  for (std::size_t step = 0; step < a.steps_per_epoch(); ++step) {
    for (std::size_t part = 0; part < 3; ++part)
      CHECK(a.indices(step, part) == b.indices(step, part));
  }
}

TEST_CASE("Every micro-batch size that occurs is planned", "[run_plan]") {
  // 500 images, 60 per step: the last step has 20, of which virtual ranks get 7, 7 and 6.
  const RunPlan plan = plan_run(config_with(20, 3), 1, 500);
  const Sampler sampler(plan.sampler);
  auto sizes = micro_batch_sizes(plan, sampler, 0);
  std::sort(sizes.begin(), sizes.end());
  CHECK(sizes == std::vector<std::size_t>{6, 7, 20});
}

TEST_CASE("A fault that would never come is refused", "[run_plan]") {
  TrainConfig config = config_with(10, 1);
  config.epochs = 2;  // 100 images on 2 ranks: 5 steps an epoch
  config.fault = {InjectedFault::Kind::nan, 1, 10};
  CHECK_NOTHROW(plan_run(config, 2, 100));
  config.fault.step = 11;
  CHECK_THROWS_AS(plan_run(config, 2, 100), InputError);
  config.fault = {InjectedFault::Kind::nan, 2, 1};
  CHECK_THROWS_AS(plan_run(config, 2, 100), InputError);
}

TEST_CASE("Fewer images than ranks is refused", "[run_plan]") {
  CHECK_THROWS_AS(plan_run(config_with(8, 1), 4, 3), InputError);
}

TEST_CASE("Evaluation shares cover the test set once", "[run_plan]") {
  std::size_t next = 0;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const EvaluationPlan plan = plan_evaluation(1000, 3, rank, 64);
    CHECK(plan.share.begin == next);
    next = plan.share.end;
    const auto sizes = plan.batch_sizes();
    REQUIRE(sizes.size() == 2);
    CHECK(sizes[0] == 64);
    CHECK(sizes[1] == plan.share.size() % 64);
  }
  CHECK(next == 1000);
  CHECK(plan_evaluation(0, 3, 0, 64).batch_sizes().empty());
  CHECK(plan_evaluation(128, 1, 0, 64).batch_sizes() == std::vector<std::size_t>{64});
}
