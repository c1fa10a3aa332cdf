#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mpi/session/watchdog.hpp"
#include "rueda/train/run_record.hpp"
#include "run/checkpoints.hpp"
#include "run/console.hpp"
#include "run/fit_batch.hpp"
#include "run/job.hpp"
#include "run/train_setup.hpp"
#include "run/wiring/make_all_reduce.hpp"
#include "train/gradient_reducer.hpp"
#include "train/train_loop.hpp"

namespace rueda {

/// The things that training works with; all of them outlive it.
struct TrainingParts {
  Job& job;
  const TrainConfig& config;
  const AgreedData& data;
  const Graph& graph;
  const FitRequest& request;  ///< by which the replica is fitted again to other parts of the batch
  FittedReplica& fitted;
  const GradientSums& sums;
  GradientReducer& reducer;
  Resuming& resuming;
  StartupClock& clock;
};

/// Trains to the end, and keeps the record of it.
class Training {
 public:
  /// `run` has what is known of the ranks' work, `self` what this rank knows of itself.
  Training(const TrainingParts& parts, RunRecord& run, RankInfo self)
      : parts_(parts), run_(run), self_(std::move(self)) {}

  /// Collective.
  void train();

 private:
  /// Collective: what only the ranks themselves know. The last thing before the first step.
  void introduce_ranks();
  TrainerParts trainer_parts(TrainObserver& observer);
  /// TrainerParts::refit.
  void refit(const std::vector<std::size_t>& shares);
  void run_loop(TrainLoop& loop);
  /// A step is watched more strictly than what comes before, after and between epochs with other
  /// shares: that also plans, and waits for disks.
  void watch_steps();
  void note_failure(Console& console, const std::string& what);
  void note_time() { run_.total_seconds = run_.earlier_seconds + parts_.clock.watch().seconds(); }

  TrainingParts parts_;
  RunRecord& run_;
  RankInfo self_;
  std::unique_ptr<Watchdog> watchdog_;
};

}  // namespace rueda
