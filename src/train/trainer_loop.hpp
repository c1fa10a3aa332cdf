#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "evaluator.hpp"
#include "gradient_accumulator.hpp"
#include "replica_check.hpp"
#include "rueda/optim/sgd.hpp"
#include "rueda/train/trainer.hpp"
#include "step_recorder.hpp"
#include "train_input.hpp"

namespace rueda {

/// The loop of a Trainer: epochs of steps.
class Trainer::Loop {
 public:
  Loop(const TrainConfig& config, const RunPlan& plan, const TrainerParts& parts,
       const TrainPosition& from);
  void run(RunRecord& run);
  std::span<float> velocities() { return optimizer_.velocities(); }
  std::size_t staging_bytes() const { return input_->device_bytes(); }

 private:
  /// False: a rank asked to stop before the epoch's end.
  bool train_epoch(const RunRecord& run, EpochRecord& record);
  bool take_steps(const RunRecord& run);
  /// Whether the target accuracy is reached.
  bool finish_epoch(RunRecord& run, EpochRecord record);

  StepSums train_step(std::size_t step);
  void before_step(std::size_t step);
  void run_micro_batches(std::size_t step);
  void reduce_and_update(std::size_t step);
  StepSums finish_step(std::size_t step);
  void record_step(std::size_t step, const StepSums& sums);

  void tell_progress(const StepSums& sums);
  void require_finite_parameters();
  void save_within_epoch(const RunRecord& run);
  void save(const RunRecord& run, const TrainPosition& position);

  bool checks(CheckReplicas when) const { return config_.check_replicas == when; }
  /// Of this epoch, those of an earlier process included.
  double seconds_so_far() const { return position_.seconds + watch_.seconds() - paused_; }
  /// The current one, from 1.
  std::size_t epoch() const { return position_.epochs + 1; }
  std::size_t rank() const { return static_cast<std::size_t>(parts_.group.rank()); }
  std::size_t global_step(std::size_t step) const {
    return position_.epochs * sampler_.steps_per_epoch() + step;
  }
  double rate_of(std::size_t step) const {
    return learning_rate(plan_.schedule, global_step(step) - 1);
  }
  std::string in_words(std::size_t step) const {
    return "epoch " + std::to_string(epoch()) + ", step " + std::to_string(step);
  }
  PhaseTimer& timer() { return recorder_.timer(); }

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
  StepRecorder recorder_;
  Stopwatch watch_;    ///< of this epoch's steps
  double paused_ = 0;  ///< seconds since it was started that checkpoints took
  std::optional<std::size_t> resumed_at_;
  bool asked_to_stop_ = false;  ///< this rank has passed its stop request on
};

}  // namespace rueda
