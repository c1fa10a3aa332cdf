#include "train/run_plan.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "rueda/train/config.hpp"
#include "tests/support/common.hpp"
#include "train/checks/audit.hpp"
#include "train/checks/divergence.hpp"
#include "train/schedule.hpp"

namespace rueda {
namespace {

using Catch::Contains;

TrainConfig config_with(std::size_t batch_per_rank, std::size_t accumulate) {
  TrainConfig config;
  config.batch.per_rank = batch_per_rank;
  config.batch.accumulate = accumulate;
  return config;
}

TEST_CASE("every rank audits every micro-batch of every other rank, one after another", "[audit]") {
  for (std::size_t world = 1; world <= 8; ++world) {
    for (std::size_t micro_batches = 1; micro_batches <= 3; ++micro_batches) {
      CAPTURE(world, micro_batches);
      const std::size_t all = std::max<std::size_t>(world - 1, 1) * micro_batches;
      std::set<std::pair<std::size_t, std::size_t>> seen;  // owner, micro-batch
      for (std::size_t audit = 5; audit < 5 + all; ++audit) {
        const AuditTurn turn = audit_turn(audit, world - 1, micro_batches);
        REQUIRE(turn.distance < world);
        seen.insert({turn.distance, turn.micro_batch});  // of rank 0
      }
      CHECK(seen.size() == all);
      CHECK(std::ranges::count(seen, 0U, [](auto& one) { return one.first; }) ==
            std::ptrdiff_t(world == 1 ? all : 0));  // its own only where it is alone
    }
  }
}

TEST_CASE("an epoch has diverged where guessing is far better", "[config]") {
  const auto diverges = [](std::size_t number, double loss, std::size_t classes) {
    EpochRecord epoch;
    epoch.epoch = number;
    epoch.train.loss = loss;
    return has_diverged(epoch, classes);
  };
  const double guessed = guessing_loss(10);
  CHECK(guessed == Approx(2.302585));
  CHECK_FALSE(diverges(2, 1.99 * guessed, 10));
  CHECK(diverges(2, 2.01 * guessed, 10));
  CHECK_FALSE(diverges(1, 9.99 * guessed, 10));  // random weights are in its mean
  CHECK(diverges(1, 10.01 * guessed, 10));
  CHECK_FALSE(diverges(2, 2.01 * guessed, 100));
  CHECK_FALSE(diverges(2, NAN, 10));  // nothing was computed
  std::vector<EpochRecord> epochs(2);
  CHECK_FALSE(ended_diverged(std::span<const EpochRecord>(), 10));
  epochs[0].epoch = 2;
  epochs[0].train.loss = 100;
  epochs[1].epoch = 3;
  CHECK_FALSE(ended_diverged(std::span<const EpochRecord>(epochs), 10));  // it came back
  epochs[1].train.loss = 100;
  CHECK(ended_diverged(std::span<const EpochRecord>(epochs), 10));
}

TEST_CASE("a learning rate for a batch that no step has is told", "[config]") {
  TrainConfig config = config_with(1000, 1);
  CHECK_THAT(remark_on_rate(config, plan_run(config, 1, 64)),
             Contains("scaled for a global batch of 1000, but no step has more than the 64"));
  CHECK_THAT(remark_on_rate(config, plan_run(config, 1, 999)), Contains("999"));
  CHECK(remark_on_rate(config, plan_run(config, 1, 1000)).empty());
  config.optimizer.scale_lr = ScaleLr::none;
  CHECK(remark_on_rate(config, plan_run(config, 1, 64)).empty());
}

TEST_CASE("options that have no effect beside the others are named", "[config]") {
  TrainConfig config;
  CHECK(idle_options(config).empty());
  config.given = {"trace-steps", "keep", "input-workers", "base-batch", "epochs"};
  CHECK(idle_options(config).size() == 3);  // lr is scaled by --base-batch
  CHECK(idle_options(config).front().find("--trace-steps has no effect without") == 0);
  config.optimizer.scale_lr = ScaleLr::none;
  CHECK(idle_options(config).size() == 4);
  config.output.trace = "t.json";
  config.checkpoints.every.count = 1;
  config.data.input = InputMode::stream;
  CHECK(idle_options(config) ==
        std::vector<std::string>{"--base-batch has no effect with --scale-lr none"});
  config.given = {"lars-trust", "lars-epsilon"};
  CHECK(idle_options(config) ==
        std::vector<std::string>{"--lars-trust has no effect with --optimizer sgd",
                                 "--lars-epsilon has no effect with --optimizer sgd"});
  config.optimizer.optimizer = OptimizerChoice::lars;
  CHECK(idle_options(config).empty());
}

TEST_CASE("The global batch counts ranks and micro-batches", "[run_plan]") {
  const RunPlan plan = plan_run(config_with(32, 3), 4, 50'000);
  CHECK(plan.global_batch == 384);
  CHECK(plan.sampler.parts == 12);
  CHECK(plan.schedule.steps_per_epoch == 131);  // ceil(50000 / 384)
  CHECK(plan.virtual_rank(2, 1) == 7);
}

TEST_CASE("Linear scaling goes by the global batch over the base batch", "[run_plan]") {
  TrainConfig config = config_with(64, 1);
  config.optimizer.lr = 0.1;
  config.optimizer.base_batch = 128;
  CHECK(plan_run(config, 1, 1000).schedule.base_rate == Approx(0.05));
  CHECK(plan_run(config, 4, 1000).schedule.base_rate == Approx(0.2));
  config.optimizer.scale_lr = ScaleLr::none;
  CHECK(plan_run(config, 4, 1000).schedule.base_rate == Approx(0.1));
}

TEST_CASE("One rank with N micro-batches plans like N ranks", "[run_plan]") {
  const RunPlan many = plan_run(config_with(20, 1), 3, 500);
  const RunPlan one = plan_run(config_with(20, 3), 1, 500);
  CHECK(many.global_batch == one.global_batch);
  CHECK(many.schedule.base_rate == one.schedule.base_rate);
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
  CHECK(plan.rank_samples(20, 0) == 20);
  CHECK(plan_run(config_with(10, 3), 2, 500).rank_samples(20, 0) == 4 + 4 + 3);
}

TEST_CASE("Fewer images than ranks and a fault that would never come are refused", "[run_plan]") {
  TrainConfig config = config_with(10, 1);
  config.training.epochs = 2;  // 100 images on 2 ranks: 5 steps an epoch
  config.checks.fault = {InjectedFault::Kind::nan, 1, 10};
  CHECK_NOTHROW(plan_run(config, 2, 100));
  config.checks.fault.step = 11;
  CHECK_THROWS_AS(plan_run(config, 2, 100), InputError);
  config.checks.fault = {InjectedFault::Kind::nan, 2, 1};
  CHECK_THROWS_AS(plan_run(config, 2, 100), InputError);
  CHECK_THROWS_WITH(plan_run(config_with(8, 1), 4, 3),
                    Contains("has 3 images, fewer than the 4 parts"));
}

TEST_CASE("Ranks share the test set in batches that are the same on any number of ranks",
          "[run_plan]") {
  for (const std::size_t world : {1, 3, 16, 20}) {
    std::size_t next = 0;
    for (std::size_t rank = 0; rank < world; ++rank) {
      const EvaluationPlan plan = plan_evaluation(1000, world, rank, 64);
      CHECK(plan.share.begin == next);
      CHECK((plan.share.size() == 0 || plan.share.begin % 64 == 0));
      next = plan.share.end;
    }
    CHECK(next == 1000);
  }
  CHECK(plan_evaluation(1000, 3, 0, 64).batch_sizes() == std::vector<std::size_t>{64});
  CHECK(plan_evaluation(1000, 3, 2, 64).batch_sizes() == std::vector<std::size_t>{64, 40});
  CHECK(plan_evaluation(1000, 20, 19, 64).batch_sizes().empty());
  CHECK(plan_evaluation(0, 3, 0, 64).batch_sizes().empty());
  CHECK(plan_evaluation(10'000, 4, 3, 2048).batch_sizes() == std::vector<std::size_t>{256, 16});
}

ScheduleOptions options_of(LrSchedule schedule, double warmup_epochs) {
  return {.base_rate = 0.8,
          .schedule = schedule,
          .warmup_epochs = warmup_epochs,
          .epochs = 8,
          .steps_per_epoch = 10};
}

TEST_CASE("schedule: warm-up rises linearly to the base rate", "[optim]") {
  const ScheduleOptions o = options_of(LrSchedule::constant, 2);
  CHECK(learning_rate(o, 0) == Approx(0.04));
  CHECK(learning_rate(o, 9) == Approx(0.4));
  CHECK(learning_rate(o, 19) == Approx(0.8));
  CHECK(learning_rate(o, 20) == Approx(0.8));
  CHECK(learning_rate(options_of(LrSchedule::constant, 0), 0) == Approx(0.8));
  CHECK(learning_rate(options_of(LrSchedule::constant, 0.25), 2) == Approx(0.8));
}

TEST_CASE("schedule: steps fall at half and three quarters of the run", "[optim]") {
  const ScheduleOptions o = options_of(LrSchedule::step, 0);
  CHECK(learning_rate(o, 39) == Approx(0.8));
  CHECK(learning_rate(o, 40) == Approx(0.08));
  CHECK(learning_rate(o, 59) == Approx(0.08));
  CHECK(learning_rate(o, 60) == Approx(0.008));
  CHECK(learning_rate(o, 79) == Approx(0.008));
}

TEST_CASE("schedule: the cosine falls from the end of the warm-up", "[optim]") {
  const ScheduleOptions o = options_of(LrSchedule::cosine, 2);
  CHECK(learning_rate(o, 20) == Approx(0.8));
  CHECK(learning_rate(o, 50) == Approx(0.4));
  CHECK(learning_rate(o, 35) == Approx(0.4 * (1 + std::sqrt(0.5))));
  CHECK(learning_rate(o, 79) < 0.01);
  CHECK(learning_rate(o, 79) > 0);
}

struct Case {
  std::function<void(TrainConfig&)> change;
  const char* message = "";  ///< contained in the refusal; empty: it is accepted
};

void check(const std::initializer_list<Case>& cases, const TrainConfig& defaults = {}) {
  for (const Case& c : cases) {
    TrainConfig config = defaults;
    c.change(config);
    const std::string message = test::refusal([&] { validate(config); });
    INFO("case " << &c - cases.begin());
    CHECK_THAT(message, Contains(c.message));
    CHECK(message.empty() == (*c.message == 0));
  }
}

TEST_CASE("numbers out of range are refused by the name of their option", "[config]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  check({
      {[](auto&) {}},
      {[](auto& c) { c.model.name = "resnet19"; },
       "--model 'resnet19' is not known: did you mean resnet18? Give one of resnet20"},
      {[](auto& c) { c.data.path = ""; }, "--data"},
      {[](auto& c) { c.training.epochs = 0; },
       "--epochs is 0: give a whole number from 1 to 1000000"},
      {[](auto& c) { c.batch.per_rank = 0; }, "--batch-per-rank"},
      {[](auto& c) { c.batch.per_rank = kMostThatFits; }},
      {[](auto& c) { c.batch.global = 1'000'001; }, "--global-batch"},
      {[](auto& c) { c.batch.accumulate = 0; }, "--accumulate"},
      {[](auto& c) { c.optimizer.base_batch = 0; }, "--base-batch"},
      {[](auto& c) { c.data.input_workers = 0; }},
      {[](auto& c) { c.data.input_workers = 1025; }, "--input-workers"},
      {[](auto& c) { c.model.image_size = 7; }, "--image-size"},
      {[](auto& c) { c.model.image_size = 8; }},
      {[](auto& c) { c.device.threads = -1; }, "--threads is -1"},
      {[](auto& c) { c.sums.segment_kb = 4'000'001; }, "--segment-kb"},
      {[](auto& c) { c.sums.bucket_mb = -1; }, "--bucket-mb"},
      {[](auto& c) { c.checks.stall_seconds = 1'000'001; }, "--stall-seconds"},
      {[](auto& c) { c.checkpoints.keep = 0; }, "--keep"},
      {[](auto& c) { c.optimizer.lr = 0; }, "--lr is 0: give a number above 0 and at most 1000"},
      {[=](auto& c) { c.optimizer.lr = nan; }, "--lr"},
      {[](auto& c) { c.optimizer.momentum = 0; }},
      {[](auto& c) { c.optimizer.momentum = 1; },
       "--momentum is 1: give a number at least 0 and below 1"},
      {[=](auto& c) { c.optimizer.momentum = nan; }, "--momentum"},
      {[](auto& c) { c.optimizer.weight_decay = -1e-4; }, "--weight-decay"},
      {[](auto& c) { c.training.label_smoothing = 0.99; }},
      {[](auto& c) { c.training.label_smoothing = 1; },
       "--label-smoothing is 1: give a number at least 0 and below 1"},
      {[](auto& c) { c.training.label_smoothing = -0.1; }, "--label-smoothing"},
      {[](auto& c) { c.optimizer.lars_trust = 0; },
       "--lars-trust is 0: give a number above 0 and at most 1"},
      {[=](auto& c) { c.optimizer.lars_trust = nan; }, "--lars-trust"},
      {[](auto& c) { c.optimizer.lars_epsilon = 0; }},
      {[](auto& c) { c.optimizer.lars_epsilon = -1; }, "--lars-epsilon"},
      {[](auto& c) { c.optimizer.warmup_epochs = 3; }},
      {[](auto& c) { c.optimizer.warmup_epochs = 3.5; }, "--warmup-epochs"},
      {[](auto& c) { c.optimizer.warmup_epochs = -1; }, "--warmup-epochs"},
      {[](auto& c) { c.training.target_accuracy = 1; }},
      {[](auto& c) { c.training.target_accuracy = 80; }, "--target-accuracy"},
  });
}

TEST_CASE("options that contradict each other are refused", "[config]") {
  using Kind = InjectedFault::Kind;
  check({
      {[](auto& c) { c.optimizer.nesterov = true, c.optimizer.momentum = 0; }, "--nesterov"},
      {[](auto& c) { c.sums.order = ReduceOrder::fixed, c.sums.algorithm = Algorithm::mpi; },
       "--reduce-order fixed"},
      {[](auto& c) {
         c.device.backend = BackendChoice::cpu, c.sums.transport = TransportChoice::staged;
       },
       "--transport staged"},
      {[](auto& c) {
        c.device.backend = BackendChoice::cuda, c.sums.transport = TransportChoice::staged;
      }},
      {[](auto& c) {
        c.checks.fault = {Kind::nan, 0, 1};
      }},
      {[](auto& c) {
         c.checks.fault = {Kind::nan, -1, 1};
       },
       "RUEDA_INJECT"},
      {[](auto& c) {
         c.checks.fault = {Kind::nan, 0, 0};
       },
       "RUEDA_INJECT"},
      {[](auto& c) { c.checkpoints.resume = "auto"; }, "--run-dir"},
      {[](auto& c) { c.compute.jitter = 5; }, "--backend timed"},
  });
}

TEST_CASE("the timed backend needs a time, and only that backend takes one", "[config]") {
  TrainConfig timed;
  timed.device.backend = BackendChoice::timed;
  timed.compute.ms = 100;
  check(
      {
          {[](auto&) {}},
          {[](auto& c) { c.compute.jitter = 10; }},
          {[](auto& c) { c.compute.ms.reset(); }, "--compute MILLISECONDS or"},
          {[](auto& c) { c.compute.from = "run.json"; }, "either"},
          {[](auto& c) { c.data.input = InputMode::stream; }, "--input"},
          {[](auto& c) { c.batch.per_rank = kMostThatFits; }, "--batch-per-rank"},
          {[](auto& c) { c.training.target_accuracy = 0.8; }, "--target-accuracy"},
          {[](auto& c) { c.output.save_weights = "w.safetensors"; }, "--save-weights"},
          {[](auto& c) { c.output.save_weights = kNoWeights; }},
          {[](auto& c) { c.output.profile_layers = true; }, "--profile-layers"},
          {[](auto& c) { c.device.backend = BackendChoice::cpu; }, "--backend timed"},
      },
      timed);
}

TEST_CASE("given parts of a batch are planned in whole images", "[balance]") {
  TrainConfig config = config_with(16, 1);
  config.batch.balance.parts = {3, 1};
  const RunPlan plan = plan_run(config, 2, 500);
  CHECK(plan.global_batch == 32);
  CHECK(plan.rank_batches() == std::vector<std::size_t>{24, 8});
  CHECK(plan.rank_samples(16, 0) == 12);
  CHECK(plan.largest_micro_batch(0) == 24);
  CHECK(plan.largest_micro_batch() == 16);
  CHECK(micro_batch_sizes(plan, Sampler(plan.sampler), 1) == std::vector<std::size_t>{8, 5});
  config.batch.accumulate = 2;
  CHECK(plan_run(config, 2, 500).rank_batches() == std::vector<std::size_t>{48, 16});
  CHECK(plan_run(config, 2, 500).largest_micro_batch(0) == 24);
  CHECK_THROWS_WITH(plan_run(config, 3, 500),
                    Contains("--balance names the parts of 2 ranks, and this run has 3 ranks"));
  config.batch.balance = {.by_speed = true};
  CHECK(plan_run(config, 3, 500).rank_batches() == std::vector<std::size_t>{32, 32, 32});
  CHECK(plan_run(config, 3, 500, {50, 40, 6}).rank_batches() ==
        std::vector<std::size_t>{50, 40, 6});
}

TEST_CASE("an evaluation is shared in the same proportions, by whole batches", "[balance]") {
  const auto share = [](std::size_t rank) {
    return plan_evaluation(1000, 2, rank, 100, {30, 10}).share;
  };
  CHECK(share(0) == Range{0, 700});
  CHECK(share(1) == Range{700, 1000});
  CHECK(plan_evaluation(1000, 2, 1, 100, {39, 1}).share.size() == 100);
}

}  // namespace
}  // namespace rueda
