#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint_sink.hpp"
#include "config.hpp"
#include "device_watch.hpp"
#include "evaluator.hpp"
#include "gradient_accumulator.hpp"
#include "gradient_sync.hpp"
#include "observer.hpp"
#include "phase_timer.hpp"
#include "position.hpp"
#include "replica_check.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/replica.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/data/sampler.hpp"
#include "rueda/optim/sgd.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run_plan.hpp"
#include "run_record.hpp"
#include "train_input.hpp"

namespace rueda {

/// What a trainer works with; all of it outlives the trainer.
struct TrainerParts {
  RankGroup& group;
  Replica& replica;
  GradientSync& sync;
  const Dataset& data;
  TrainObserver& observer;
  const Stopwatch& since_start;            ///< of the program
  DeviceWatch* watch = nullptr;            ///< of the GPU; null without one
  CheckpointSink* checkpoints = nullptr;   ///< null: none are written
  std::function<bool()> stop_requested{};  ///< of this rank: asked before every step
};

class EpochBook;

/// The loop: synchronous data-parallel training, one optimizer step per global batch.
class Trainer {
 public:
  /// `from`: where an earlier run stood whose parameters and statistics the replica has.
  Trainer(const TrainConfig& config, const RunPlan& plan, const TrainerParts& parts,
          const TrainPosition& from = {});
  ~Trainer();

  /// Trains until the last epoch, the target accuracy, or the step in which a rank asks to stop;
  /// fills `run.epochs`, `outcome` and `seconds_to_target`. Collective. Throws RunError, alike on
  /// every rank, on a loss that is not finite (step and rank named) and on replicas that differ.
  void run(RunRecord& run);

  /// Of the optimizer, on the replica's device: to be filled before a run that goes on.
  std::span<float> velocities() { return optimizer_.velocities(); }
  /// Device memory of batches on their way, beyond what the replica holds.
  std::size_t staging_bytes() const { return input_->device_bytes(); }

 private:
  /// False: a rank asked to stop before the epoch's end.
  bool train_epoch(const RunRecord& run, EpochRecord& record);
  /// Whether the target accuracy is reached.
  bool finish_epoch(RunRecord& run, EpochRecord record);
  bool take_steps(const RunRecord& run);
  StepSums train_step(std::size_t step);
  void pass_on_wish_to_stop();
  void run_micro_batch(std::size_t step, std::size_t micro_batch, float scale);
  void reduce_and_update(std::size_t global_step);
  void finish_update(const StepSums& sums);
  void record_step(std::size_t step, const StepSums& sums);
  void require_finite(const StepSums& sums, std::size_t step);
  void require_finite_parameters();
  void save_within_epoch(const RunRecord& run);
  void save(const RunRecord& run, const TrainPosition& position);
  double seconds_so_far() const;
  /// The one in hand, from 1.
  std::size_t epoch() const { return position_.epochs + 1; }
  std::size_t global_step(std::size_t step) const {
    return position_.epochs * sampler_.steps_per_epoch() + step;
  }
  std::string place_in_run(std::size_t step) const;
  void keep_trace(bool keeps);
  bool is_traced(std::size_t global_step) const;
  void trace_this_step(std::size_t global_step, const std::vector<BucketRecord>& buckets);

  const TrainConfig& config_;
  const RunPlan& plan_;
  TrainerParts parts_;
  Backend& backend_;
  Sampler sampler_;
  Evaluator evaluator_;
  Sgd optimizer_;
  GradientAccumulator accumulator_;
  ReplicaCheck check_;
  TrainPosition position_;
  std::unique_ptr<TrainInput> input_;
  PhaseTimer timer_;
  std::unique_ptr<EpochBook> book_;
  Stopwatch watch_;    ///< of this epoch's steps
  double paused_ = 0;  ///< seconds since it was started that checkpoints took
  std::optional<std::size_t> resumed_at_;
  bool passed_on_ = false;  ///< this rank's wish to stop
};

}  // namespace rueda
