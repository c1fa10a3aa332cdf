#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "backend/replica.hpp"
#include "backend_under_test.hpp"
#include "base/clock.hpp"
#include "data/synth.hpp"
#include "model/registry.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "rueda/data/dataset.hpp"
#include "thread_group.hpp"
#include "train/train_loop.hpp"

namespace rueda::test {

/// Remembers what a trainer reports.
struct Listener final : TrainObserver {
  void on_step(const TrainPosition& position, std::span<const RankTimes>) override {
    steps.push_back(position);
  }
  void on_epoch(RunRecord& run) override {
    epochs_told = run.epochs.size();
    outcome_told = run.outcome;
  }
  void on_evaluation(std::size_t done, std::size_t of, double) override {
    scored.emplace_back(done, of);
  }
  std::vector<std::pair<std::size_t, std::size_t>> scored;  ///< images, of so many
  std::vector<TrainPosition> steps;
  std::size_t epochs_told = 0;
  std::string outcome_told;
};

/// On one rank a sum over ranks is the slice itself.
struct NoReduce final : AllReduce {
  std::string_view name() const override { return "none"; }
  Event sum(std::span<float>, Event ready, ReduceJournal& journal) override {
    {
      const auto entry = journal.transfer("", 0, -1, -1);
      std::this_thread::sleep_for(takes);
    }
    const auto entry = journal.add("", 0);
    std::this_thread::sleep_for(takes);
    return ready;
  }
  std::chrono::milliseconds takes{0};  ///< each of the two
};

/// Its clock is ahead by one more second each time that it is asked.
struct OneRank : ThreadGroup {
  ClockOffset clock_offset() override { return {.seconds = ++ahead, .error = 0}; }
  /// A double is the seconds of an epoch: another rank takes `other` seconds.
  std::vector<Bytes> all_gather(std::span<const std::byte> mine) override {
    auto all = ThreadGroup::all_gather(mine);
    const auto bytes = std::as_bytes(std::span(&other, 1));
    if (other > 0 && mine.size() == sizeof other) all.emplace_back(bytes.begin(), bytes.end());
    return all;
  }
  double ahead = 0;
  double other = 0;
};

/// One rank's training run without MPI.
struct SoloTraining {
  /// On the backend under test.
  explicit SoloTraining(const TrainConfig& c, SynthOptions images = {.train = 96, .test = 40},
                        const std::vector<std::size_t>& shares = {})
      : SoloTraining(c, images, open_backend_under_test(c.device.precision), shares) {}
  /// `shares`: samples of its micro-batches; empty: they are equal.
  SoloTraining(const TrainConfig& c, SynthOptions images, std::unique_ptr<Backend> on,
               const std::vector<std::size_t>& shares = {})
      : config(c),
        data(draw_synthetic(images)),
        graph(build_model(config.model.name, config.model.image_size, kClasses)),
        plan(with_shares(plan_run(config, 1, data.train.size()), shares)),
        backend(std::move(on)),
        replica(graph, *backend,
                std::make_unique<ReplicaPlan>(
                    graph, *backend, micro_batch_sizes(plan, Sampler(plan.sampler), 0),
                    plan_evaluation(data.test.size(), 1, 0, largest()).batch_sizes(),
                    Recompute::none, 1)) {
    replica.initialise(config.training.seed);
    replica.smooth_labels(float(config.training.label_smoothing));
  }

  static RunPlan with_shares(RunPlan plan, const std::vector<std::size_t>& shares) {
    plan.sampler.shares = shares;
    return plan;
  }

  std::size_t largest() const {
    return even_split(plan.global_batch, plan.sampler.parts, 0).size();
  }

  std::unique_ptr<GradientReducer> make_reducer() {
    return std::make_unique<GradientReducer>(ReducerParts{
        replica, reduce, plan_buckets(graph, {.most_bytes = bucket_limit(config.sums.bucket_mb)})});
  }

  RunRecord train() { return train(group); }
  RunRecord train(RankGroup& among) {
    RunRecord run;
    run.config = config;
    const Stopwatch clock;
    const auto reducer = make_reducer();
    TrainerParts parts{config, plan, among, replica, *reducer, data, listener, clock};
    parts.monitor = monitor;
    parts.from = from;
    parts.save = [this](const TrainPosition& at, std::span<float>) { on_save(at); };
    TrainLoop(parts).run(run);
    return run;
  }

  TrainConfig config;
  Dataset data;
  Graph graph;
  RunPlan plan;
  std::unique_ptr<Backend> backend;
  Replica replica;
  OneRank group;
  NoReduce reduce;
  Listener listener;
  DeviceMonitor* monitor = nullptr;
  TrainPosition from = {};
  std::function<void(const TrainPosition&)> on_save = [](const TrainPosition&) {};
};

/// Two epochs of 96 small images in steps of 24, and what is left: 4 steps each.
inline TrainConfig small_run() {
  TrainConfig config;
  config.model.image_size = quick_image_size();
  config.training.epochs = 2;
  config.batch.per_rank = 24;
  config.optimizer.lr = 0.1;
  config.optimizer.lr_schedule = LrSchedule::constant;
  return config;
}

}  // namespace rueda::test
