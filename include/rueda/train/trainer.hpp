#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "rueda/data/dataset.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/device_watch.hpp"
#include "rueda/train/gradient_reducer.hpp"
#include "rueda/train/observer.hpp"
#include "rueda/train/position.hpp"
#include "rueda/train/run_plan.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// What a trainer works with; all of it outlives the trainer.
struct TrainerParts {
  RankGroup& group;
  Replica& replica;
  GradientReducer& reducer;
  const Dataset& data;
  TrainObserver& observer;
  const Stopwatch& since_start;            ///< of the program
  DeviceWatch* watch = nullptr;            ///< of the GPU; null without one
  CheckpointSink* checkpoints = nullptr;   ///< null: none are written
  std::function<bool()> stop_requested{};  ///< of this rank: asked before every step
};

/// Synchronous data-parallel training, one optimizer step per global batch.
class Trainer {
 public:
  /// `from`: the position of an earlier run whose parameters and statistics the replica has.
  Trainer(const TrainConfig& config, const RunPlan& plan, const TrainerParts& parts,
          const TrainPosition& from = {});
  ~Trainer();

  /// Trains until the last epoch, the target accuracy, or the step in which a rank asks to stop;
  /// fills `run.epochs`, `outcome` and `seconds_to_target`. Collective. Throws RunError, alike on
  /// every rank, on a loss that is not finite (step and rank named) and on replicas that differ.
  void run(RunRecord& run);

  /// Of the optimizer, on the replica's device: to be filled before a resumed run.
  std::span<float> velocities();
  /// Device memory of batches on their way, beyond what the replica holds.
  std::size_t staging_bytes() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace rueda
