#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rueda/backend/backend.hpp"
#include "rueda/backend/replica.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/data/sampler.hpp"
#include "rueda/optim/sgd.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/bucket_waits.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/device_watch.hpp"
#include "rueda/train/evaluator.hpp"
#include "rueda/train/gradient_accumulator.hpp"
#include "rueda/train/gradient_sync.hpp"
#include "rueda/train/observer.hpp"
#include "rueda/train/phase_timer.hpp"
#include "rueda/train/replica_check.hpp"
#include "rueda/train/run_plan.hpp"
#include "rueda/train/run_record.hpp"
#include "rueda/train/trace.hpp"
#include "rueda/train/train_input.hpp"

namespace rueda {

/// What a trainer works with; all of it outlives the trainer.
struct TrainerParts {
  RankGroup& group;
  Replica& replica;
  GradientSync& sync;
  const Dataset& data;
  TrainObserver& observer;
  const Stopwatch& since_start;  ///< of the program
  DeviceWatch* watch = nullptr;  ///< of the GPU; null without one
};

/// The loop: synchronous data-parallel training, one optimizer step per global batch.
class Trainer {
 public:
  Trainer(const TrainConfig& config, const RunPlan& plan, const TrainerParts& parts);

  /// Trains until the last epoch or the target accuracy; fills `run.epochs`, `outcome` and
  /// `seconds_to_target`. Collective. Throws RunError, alike on every rank, on a loss that is not
  /// finite (step and rank named) and on replicas that differ.
  void run(RunRecord& run);

  /// Device memory of batches on their way, beyond what the replica holds.
  std::size_t staging_bytes() const { return input_->device_bytes(); }

 private:
  EpochRecord train_epoch(std::size_t epoch);
  StepSums train_step(std::size_t epoch, std::size_t step);
  void run_micro_batch(std::size_t step, std::size_t micro_batch, float scale);
  void reduce_and_update(std::size_t global_step);
  void finish_update(const StepSums& sums);
  void record_step(std::size_t epoch, std::size_t step, std::size_t global_step,
                   const StepSums& sums);
  void require_finite(const StepSums& sums, std::size_t epoch, std::size_t step);
  void require_finite_parameters(std::size_t epoch);
  double joules_so_far() const;
  void keep_trace(bool keeps);
  bool is_traced(std::size_t global_step) const;
  void trace_this_step(std::size_t global_step, const std::vector<BucketRecord>& buckets);
  void gather_steps(RunRecord& run, EpochRecord& epoch);
  ClockOffset note_clock(double& time);
  void gather_device_use(RunRecord& run, EpochRecord& epoch);
  bool reaches_target(const EpochRecord& epoch) const;

  const TrainConfig& config_;
  const RunPlan& plan_;
  TrainerParts parts_;
  Backend& backend_;
  Sampler sampler_;
  Evaluator evaluator_;
  Sgd optimizer_;
  GradientAccumulator accumulator_;
  ReplicaCheck check_;
  std::unique_ptr<TrainInput> input_;
  PhaseTimer timer_;
  std::size_t epoch_ = 0;              ///< the one in hand, from 0: part of every random choice
  std::vector<StepRecord> steps_;      ///< of this epoch, this rank
  std::vector<BucketRecord> buckets_;  ///< likewise
  ClockFit clock_;                     ///< likewise
  std::vector<TraceSpan> trace_;       ///< likewise
  double energy_ = 0;                  ///< joules of this epoch's steps
};

}  // namespace rueda
