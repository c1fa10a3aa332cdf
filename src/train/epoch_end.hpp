#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "rueda/train/trainer.hpp"
#include "train/checks/step_checks.hpp"
#include "train/evaluator.hpp"
#include "train/step_recorder.hpp"

namespace rueda {

/// Whether the last epoch of `run` reached the target accuracy, if there is one. Where a run
/// evaluates, only an evaluation can.
bool reached_target(const TrainingConfig& config, const RunRecord& run);

/// Does all that follows the last step of an epoch: checks, evaluation, the record, and the
/// ranks' parts of the batch from the next epoch on. Its functions are alike on every rank.
class EpochEnd {
 public:
  /// Keeps the references.
  EpochEnd(const TrainerParts& parts, ReplicaCheck& check, StepRecorder& recorder);

  /// Collective: the steps of an epoch are over, which took this rank `position.seconds`. Adds
  /// the epoch to `run`, shows it, and moves `position` to the next one, for which it has the
  /// shares that the ranks should have. Throws RunError, alike on every rank, on parameters or a
  /// test loss that are not finite, and on replicas that differ.
  void finish(RunRecord& run, TrainPosition& position);

  /// Start-up is over.
  void begin() { noted_ = parts_.since_start.seconds(); }
  bool is_over(const RunRecord& run, const TrainPosition& position) const;
  /// Notes in `run` whether its last epoch reached the target.
  void note_target(RunRecord& run, const TrainPosition& position) const;

  /// As Replica's, before and after the run's plan is made for other shares.
  void forget_plan() { evaluator_.reset(); }
  void take_plan();

 private:
  double bookkeeping_seconds(const EpochRecord& epoch, double steps);
  /// All but what the recorder gathers.
  EpochRecord record(const TrainPosition& position);
  void warn_of_divergence(const RunRecord& run, const EpochRecord& record) const;
  /// Collective: with --balance speed, the shares of the next epoch by the times of this one.
  std::vector<std::size_t> next_shares(const TrainPosition& position) const;

  const TrainerParts& parts_;
  const TrainConfig& config_;
  const RunPlan& plan_;
  ReplicaCheck& check_;
  StepRecorder& recorder_;
  std::optional<Evaluator> evaluator_;
  std::optional<std::size_t> resumed_at_;
  double noted_ = 0;    ///< since the program began, until the end of the epoch before
  double earlier_ = 0;  ///< seconds of the current epoch's steps by an earlier process
};

}  // namespace rueda
