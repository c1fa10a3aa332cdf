#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "train/checks/audit.hpp"
#include "train/checks/step_checks.hpp"
#include "train/epoch_end.hpp"
#include "train/sgd.hpp"
#include "train/step_recorder.hpp"
#include "train/train_input.hpp"

namespace rueda {

/// Synchronous data-parallel training, one optimizer step per global batch.
class TrainLoop {
 public:
  explicit TrainLoop(const TrainerParts& parts);

  /// Trains until the last epoch, the target accuracy, or the step in which a
  /// rank asks to stop; fills `run.epochs`, `outcome` and `seconds_to_target`.
  /// Collective. Throws RunError, alike on every rank, on a loss that is not
  /// finite (step and rank named) and on replicas that differ.
  void run(RunRecord& run);

  /// The optimizer has them on the replica's device; they are filled before a resumed run.
  std::span<float> velocities() { return optimizer_.velocities(); }

 private:
  /// False: a rank asked to stop before the epoch's end.
  bool train_epoch(const RunRecord& run);

  void train_step(std::size_t step);

  void begin_step(std::size_t step);

  void run_micro_batches(std::size_t step);

  void compute_micro_batches(std::size_t step, float scale);

  /// Each bucket is applied as soon as it is summed, while later ones are still on their way.
  void reduce_and_update(std::size_t step);

  /// A device that works on its own gets the next step before this one's sums
  /// are looked at, so that it never waits for the host. It is waited for where
  /// something else follows than a step.
  void finish_step(std::size_t step);

  /// Looks at the sums of the last step, which are there.
  void settle();

  void record_step(std::size_t step);

  void finish_epoch(RunRecord& run);

  /// Goes on with the shares of `position_`, for which everything is planned anew.
  void refit(RunRecord& run);

  bool is_over(const RunRecord& run) const { return epoch_end_.is_over(run, position_); }

  /// A pause of the epoch on all ranks, and no step's time. The saved state
  /// passes the same checks as at the end of an epoch.
  void save_within_epoch(const RunRecord& run);

  /// The current one, from 1.
  std::size_t epoch() const { return position_.epochs + 1; }
  bool saves_after(std::size_t step) const;
  std::size_t global_step(std::size_t step) const;
  /// Whether the layers of this step are timed: warm ones, and none that a steady epoch counts.
  bool profiles(std::size_t step) const;
  double rate_of(std::size_t step) const;
  std::string in_words(std::size_t step) const;
  PhaseTimer& timer() { return recorder_.timer(); }

  const TrainerParts parts_;
  const TrainConfig& config_;
  const RunPlan& plan_;
  Replica& replica_;
  Sampler sampler_;
  Sgd optimizer_;
  GradientAccumulator accumulator_;
  ReplicaCheck check_;
  std::optional<Audit> audit_;
  std::size_t noise_interval_;  ///< steps; 0: norms are never measured
  bool update_alone_;           ///< nothing but the update reads gradients, and checks
  TrainPosition position_;
  std::unique_ptr<TrainInput> input_;
  StepRecorder recorder_;
  EpochEnd epoch_end_;
  Stopwatch watch_;         ///< since the last step or pause
  bool unsettled_ = false;  ///< the sums of the last step are still to be looked at
  bool stops_ = false;      ///< a rank asked to
};

}  // namespace rueda
