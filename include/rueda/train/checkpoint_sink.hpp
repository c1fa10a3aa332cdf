#pragma once

#include <span>

#include "position.hpp"
#include "rueda/backend/replica.hpp"
#include "run_record.hpp"

namespace rueda {

/// What a checkpoint is made of; the same on every rank.
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
  /// Collective: returns once all that was saved is on the disk and was read back. Throws likewise.
  virtual void settle() = 0;
};

}  // namespace rueda
