#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/support/training_bench.hpp"

using namespace rueda;
using rueda::test::small_run;
using rueda::test::SoloTraining;

TEST_CASE("A run records every epoch and step, whose phases add up", "[backend][trainer]") {
  TrainConfig config = small_run();
  config.batch.per_rank = 40;  // 96 images: 40, 40, 16
  SoloTraining training(config);
  const RunRecord run = training.train();
  CHECK(run.outcome == "completed");
  REQUIRE(run.epochs.size() == 2);
  CHECK(training.listener.epochs_told == 2);
  CHECK(training.listener.outcome_told == "running");  // checkpoint and weights are to come
  CHECK(training.listener.steps.size() == 6);
  const EpochRecord& epoch = run.epochs[1];
  CHECK(epoch.steps == 3);
  CHECK(epoch.train.samples == 96);
  CHECK(epoch.learning_rate == Approx(0.1 * 40 / 128));
  CHECK(epoch.images_per_second == Approx(96 / epoch.seconds));
  REQUIRE(epoch.test);
  CHECK(epoch.test->samples == 40);
  CHECK(training.listener.scored == decltype(training.listener.scored){{0, 40}, {0, 40}});
  REQUIRE(epoch.step_records.size() == 1);
  REQUIRE(epoch.step_records[0].size() == 3);
  CHECK(epoch.step_records[0][2].samples == 16);
  CHECK(epoch.step_records[0][2].epoch == 2);
  double correct = 0;
  for (const StepRecord& step : epoch.step_records[0]) {
    const double phases = std::accumulate(step.phases.begin(), step.phases.end(), 0.0);
    CHECK(phases == Approx(step.seconds).epsilon(1e-9));
    CHECK(step.seconds > 0);
    correct += step.train_accuracy * step.samples;
  }
  CHECK(correct == Approx(epoch.train.accuracy * 96));
}

TEST_CASE("The first loss is that of guessing, and training lowers it", "[backend][trainer]") {
  TrainConfig config = small_run();
  config.training.epochs = 8;
  config.training.eval_every = 3;
  config.optimizer.lr = 0.05;
  config.optimizer.scale_lr = ScaleLr::none;
  const RunRecord run = SoloTraining(config).train();
  const double first = run.epochs.front().step_records[0].front().train_loss;
  CHECK(first > 0.5 * std::log(10.0));
  CHECK(first < 2.5 * std::log(10.0));  // He initialisation spreads the first logits
  CHECK(run.epochs.back().train.loss < 0.8 * run.epochs.front().train.loss);
  for (const EpochRecord& epoch : run.epochs)  // every third one, and the last
    CHECK(epoch.test.has_value() == (epoch.epoch % 3 == 0 || epoch.epoch == 8));
}

TEST_CASE("Two runs give the same bits, another seed gives others", "[backend][trainer]") {
  TrainConfig config = small_run();
  config.data.augment = Augment::standard;
  const RunRecord first = SoloTraining(config).train();
  const RunRecord again = SoloTraining(config).train();
  for (std::size_t e = 0; e < 2; ++e) {
    CHECK(first.epochs[e].parameter_hash == again.epochs[e].parameter_hash);
    CHECK(first.epochs[e].train.loss == again.epochs[e].train.loss);
  }
  CHECK(first.epochs[0].parameter_hash != first.epochs[1].parameter_hash);
  config.training.seed = 2;
  CHECK(SoloTraining(config).train().epochs[0].parameter_hash != first.epochs[0].parameter_hash);
}

/// Where something else reads gradients than the update, a step writes all of them over the NaN
/// that it finds.
TEST_CASE("Gradients are left to the update only where it is alone", "[backend][bf16]") {
  struct FirstOfTwo final : rueda::test::OneRank {
    int size() const override { return ranks; }
    int ranks = 1;
  } group;
  TrainConfig config = small_run();
  config.device.precision = Precision::bf16;
  config.training.epochs = 1;
  SECTION("not with audits") { config.checks.audit_every = 1; }
  SECTION("not with LARS") { config.optimizer.optimizer = OptimizerChoice::lars; }
  SECTION("not with micro-batches") { config.batch.accumulate = 2; }
  SECTION("not with other ranks") { group.ranks = 2; }
  SoloTraining training(config);
  const auto reducer = training.make_reducer();
  const Stopwatch clock;
  TrainerParts parts{config,        training.plan,     group, training.replica, *reducer,
                     training.data, training.listener, clock};
  const auto gradients = training.replica.gradients().first(training.replica.parameters().size());
  const std::vector<float> nothing(gradients.size(), NAN);
  std::size_t steps = 0, left = 0;
  parts.stop_requested = [&] {  // asked at the begin of each step
    const auto all = rueda::test::read_floats(*training.backend, gradients);
    if (++steps > 1)
      left += std::size_t(std::ranges::count_if(all, [](float g) { return std::isnan(g); }));
    training.backend->upload(gradients, nothing);
    return false;
  };
  RunRecord run;
  TrainLoop(parts).run(run);
  CHECK(steps > 1);
  CHECK(left == 0);
}

/// Steps in which norms are measured need all gradients where other steps may do without.
TEST_CASE("Measured norms change no bit of training", "[backend][trainer]") {
  TrainConfig config = small_run();
  config.device.precision = Precision::bf16;
  config.training.epochs = 1;
  SECTION("by SGD") {}
  SECTION("by LARS") { config.optimizer.optimizer = OptimizerChoice::lars; }
  SECTION("by sums of micro-batches") { config.batch.accumulate = 2; }
  const auto hash = [&](std::size_t noise_scale) {
    config.checks.noise_scale = noise_scale;
    return SoloTraining(config).train().epochs.back().parameter_hash;
  };
  CHECK(hash(1) == hash(0));
}

TEST_CASE("An epoch has the energy between its ends, and the clock at both", "[backend][trainer]") {
  struct Meter final : DeviceMonitor {
    double energy_joules() override { return joules *= 2; }
    DeviceSample sample() override { return {}; }
    double joules = 1;
  } meter;
  SoloTraining training(small_run());
  training.monitor = &meter;
  const RunRecord run = training.train();
  CHECK(run.epochs[0].rank_energy.at(0).gpus == 4 - 2);
  CHECK(run.epochs[1].rank_energy.at(0).gpus == 16 - 8);
  // The comparison at the end of an epoch is that before the next one, too.
  CHECK(run.epochs[0].clocks.at(0).first.seconds == 1);
  CHECK(run.epochs[0].clocks.at(0).last.seconds == 2);
  CHECK(run.epochs[1].clocks.at(0).first.seconds == 2);
  CHECK(run.epochs[1].clocks.at(0).last.seconds == 3);
  CHECK(training.group.ahead == 3);
}

TEST_CASE("Steps, evaluations and bookkeeping are all of a run", "[backend][trainer]") {
  struct SlowClocks final : test::OneRank {
    ClockOffset clock_offset() override {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return {};
    }
  };
  SoloTraining training(small_run());
  SlowClocks group;
  const Stopwatch watch;
  const RunRecord run = training.train(group);
  const double took = watch.seconds();
  double booked = 0;
  for (const EpochRecord& epoch : run.epochs) {
    CHECK(epoch.clock_seconds >= 0.05 * (epoch.epoch == 1 ? 2 : 1));
    CHECK(epoch.bookkeeping_seconds >= epoch.clock_seconds);
    booked += epoch.seconds + epoch.test->seconds + epoch.bookkeeping_seconds;
  }
  CHECK(booked <= took);
}

TEST_CASE("An epoch takes as long as its slowest rank", "[backend][trainer]") {
  SoloTraining training(small_run());
  training.group.other = 1000;
  const RunRecord run = training.train();
  CHECK(run.epochs[0].seconds == 1000);
  CHECK(run.epochs[1].images_per_second == 96 / 1000.0);
}

TEST_CASE("Empty micro-batches of the last step do no harm", "[backend][trainer]") {
  TrainConfig config = small_run();
  config.batch.accumulate = 5;
  config.batch.per_rank = 19;  // steps of 95 and of 1: four micro-batches of the second are empty
  const RunRecord run = SoloTraining(config).train();
  CHECK(run.epochs[0].train.samples == 96);
  CHECK(std::isfinite(run.epochs[1].train.loss));
  // The second step alone gives the bits that its image gives without empty ones.
  const auto last_step = [&config](std::size_t accumulate, std::size_t batch) {
    config.training.epochs = 1;
    config.batch.accumulate = accumulate;
    config.batch.per_rank = batch;
    SoloTraining training(config);
    training.from.steps = 1;
    return training.train().epochs[0];
  };
  const EpochRecord with = last_step(5, 19), without = last_step(1, 95);
  CHECK(with.parameter_hash == without.parameter_hash);
  CHECK(with.train.loss == without.train.loss);
}

TEST_CASE("The target accuracy ends the run", "[backend][trainer]") {
  TrainConfig config = small_run();
  config.training.target_accuracy = 0.001;
  SECTION("measured on the test set") {
    const RunRecord run = SoloTraining(config).train();
    CHECK(run.outcome == "target reached");
    CHECK(run.epochs.size() == 1);
    REQUIRE(run.seconds_to_target);
    CHECK(*run.seconds_to_target ==
          Approx(run.epochs[0].seconds + run.epochs[0].test->seconds).epsilon(1e-9));
  }
  SECTION("on the training set, if the run never evaluates") {
    config.training.eval_every = 0;
    const RunRecord run = SoloTraining(config).train();
    CHECK(run.outcome == "target reached");
    CHECK_FALSE(run.epochs[0].test);
  }
  SECTION("never, if it is out of reach") {
    config.training.target_accuracy = 1.0;
    const RunRecord run = SoloTraining(config).train();
    CHECK(run.outcome == "completed");
    CHECK_FALSE(run.seconds_to_target);
  }
}

TEST_CASE("Checkpoints are due after epochs or steps, and know the seconds so far",
          "[backend][trainer]") {
  TrainConfig config = small_run();  // 2 epochs of 4 steps
  const bool by_epoch = GENERATE(true, false);
  config.checkpoints.every = by_epoch ? CheckpointEvery{1, CheckpointEvery::Unit::epochs}
                                      : CheckpointEvery{3, CheckpointEvery::Unit::steps};
  SoloTraining training(config);
  std::vector<TrainPosition> saved;
  training.on_save = [&](const TrainPosition& at) { saved.push_back(at); };
  const RunRecord run = training.train();
  using Places = std::vector<std::pair<std::size_t, std::size_t>>;  // epochs and steps
  Places places;
  for (const TrainPosition& at : saved) places.emplace_back(at.epochs, at.steps);
  REQUIRE(places == (by_epoch ? Places{{1, 0}, {2, 0}} : Places{{0, 3}, {1, 2}, {2, 0}}));
  const auto spent = [&](std::size_t e) {
    return run.epochs[e].seconds + run.epochs[e].test->seconds;
  };
  CHECK(saved.back().spent == Approx(spent(0) + spent(1)));
  if (!by_epoch) CHECK(saved[1].spent == Approx(spent(0)));
}

TEST_CASE("A loss that is not finite stops the run with step and rank", "[backend][trainer]") {
  TrainConfig config = small_run();
  config.checks.fault = {InjectedFault::Kind::nan, 0, 6};
  SoloTraining training(config);
  try {
    training.train();
    FAIL("the NaN went unnoticed");
  } catch (const RunError& error) {
    const std::string message = error.what();
    CHECK(message.find("epoch 2, step 2") != std::string::npos);
    CHECK(message.find("rank 0") != std::string::npos);
  }
}

TEST_CASE("A NaN that a ReLU would swallow is found in the batch statistics",
          "[backend][trainer]") {
  SoloTraining training(small_run());
  const auto& parameters = training.graph.parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    if (parameters[p].name == "conv1.weight") {
      const auto weights = training.replica.parameter(static_cast<ParameterId>(p));
      training.backend->upload(weights.first(1), std::vector{std::nanf("")});
    }
  }
  training.replica.parameters_changed();
  CHECK_THROWS_AS(training.train(), RunError);
}

TEST_CASE("The learning rate follows the schedule within an epoch", "[backend][trainer]") {
  TrainConfig config = small_run();
  config.optimizer.lr = 0.4;
  config.optimizer.scale_lr = ScaleLr::none;
  config.optimizer.lr_schedule =
      LrSchedule::step;  // 8 steps: a tenth from step 5 on, a hundredth from 7 on
  const RunRecord run = SoloTraining(config).train();
  CHECK(run.epochs[0].learning_rate == Approx(0.4));
  CHECK(run.epochs[1].learning_rate == Approx(0.004));
}

TEST_CASE("What the last update broke does not pass as completed", "[backend][trainer]") {
  TrainConfig config = small_run();
  config.training.epochs = 1;
  config.batch.per_rank = 96;  // one step
  config.optimizer.lr = 1e39;  // infinite as a float
  config.optimizer.scale_lr = ScaleLr::none;
  config.optimizer.weight_decay = 1;
  SECTION("when the run evaluates") {}
  SECTION("when it does not") { config.training.eval_every = 0; }
  CHECK_THROWS_AS(SoloTraining(config).train(), RunError);
}

TEST_CASE("Parameters, gradients and velocities lie alike, so that an update takes packs of them",
          "[backend][trainer]") {
  SoloTraining training(small_run());
  const Stopwatch clock;
  const auto reducer = training.make_reducer();
  TrainLoop loop({training.config, training.plan, training.group, training.replica, *reducer,
                  training.data, training.listener, clock});
  const std::size_t lead = GradientLayout(training.graph).lead();
  REQUIRE(lead > 0);
  CHECK(lead_of(training.replica.parameters()) == lead);
  CHECK(lead_of(training.replica.gradients()) == lead);
  CHECK(lead_of(loop.velocities()) == lead);
  CHECK(loop.velocities().size() == training.replica.parameters().size());
}
