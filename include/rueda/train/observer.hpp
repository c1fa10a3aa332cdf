#pragma once

#include <cstddef>
#include <span>

#include "rueda/backend/replica.hpp"
#include "rueda/train/position.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// How far an epoch is, over all ranks.
struct StepProgress {
  std::size_t epoch = 0;   ///< from 1
  std::size_t step = 0;    ///< steps done in this epoch
  std::size_t images = 0;  ///< images seen in this epoch
  double loss = 0;         ///< running mean of this epoch
  double seconds = 0;      ///< spent on this epoch
};

/// Gets the progress of training. Called on every rank.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_step(const StepProgress& progress) = 0;
  /// An epoch is complete and stands last in `run.epochs`. On rank 0 it has the step records, which
  /// may be released here once they are written.
  virtual void on_epoch(RunRecord& run) = 0;
};

/// The contents of a checkpoint; the same on every rank.
struct TrainState {
  const TrainPosition& position;
  const RunRecord& run;  ///< with the finished epochs, on rank 0
  Replica& replica;
  std::span<float> velocities;  ///< of the optimizer, on the replica's device
};

/// Where checkpoints go.
class CheckpointSink {
 public:
  virtual ~CheckpointSink() = default;
  /// Collective: takes a copy of the state, after which training may go on while it is written.
  /// Throws RunError, alike on every rank, if this or the one before could not be written.
  virtual void save(const TrainState& state) = 0;
};

}  // namespace rueda
