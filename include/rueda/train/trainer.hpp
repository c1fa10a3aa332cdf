#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

struct Dataset;
struct RunPlan;         // train/run_plan.hpp
class GradientReducer;  // train/gradient_reducer.hpp
class Replica;          // backend/replica.hpp

/// Gets the progress of training. Called on every rank.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// A step of the epoch after `position.epochs` is done. `ranks`: the times of
  /// each, or of every RankSlots::stride-th, in its step before; all 0 in the first.
  virtual void on_step(const TrainPosition& position, std::span<const RankTimes> ranks) = 0;
  /// This rank has scored so many of its test images, in so many seconds.
  virtual void on_evaluation(std::size_t /*done*/, std::size_t /*of*/, double /*seconds*/) {}
  /// An epoch is complete and stands last in `run.epochs`. On rank 0 it has the
  /// step records, which may be released here once they are written.
  virtual void on_epoch(RunRecord& run) = 0;
};

/// The things that a trainer works with; all of them outlive it.
struct TrainerParts {
  const TrainConfig& config;
  const RunPlan& plan;  ///< `refit` changes it
  RankGroup& group;
  Replica& replica;
  GradientReducer& reducer;
  const Dataset& data;
  TrainObserver& observer;
  const Stopwatch& since_start;  ///< of the program
  /// The position of an earlier run, whose parameters and statistics the replica has.
  TrainPosition from = {};
  bool resumes = false;              ///< an earlier process got there
  DeviceMonitor* monitor = nullptr;  ///< of the GPU; null without one
  DeviceMonitor* host = nullptr;     ///< null where another rank reads this host's counters
  /// Whether this rank is to stop: asked before every step.
  std::function<bool()> stop_requested = [] { return false; };
  /// Collective: copies the state for a checkpoint, which is written while
  /// training goes on. Throws RunError, alike on every rank, if this one or the
  /// one before cannot be written.
  std::function<void(const TrainPosition&, std::span<float> velocities)> save =
      [](const TrainPosition&, std::span<float>) {};
  /// Collective: plans the run and the replica anew for these images of each rank in a full step.
  /// Leaves both as they were where that does not fit into memory.
  std::function<void(const std::vector<std::size_t>& shares)> refit =
      [](const std::vector<std::size_t>&) {};

  std::size_t rank() const { return std::size_t(group.rank()); }
};

}  // namespace rueda
