#pragma once

#include <cstddef>

#include "run_record.hpp"

namespace rueda {

/// How far an epoch is, over all ranks.
struct StepProgress {
  std::size_t epoch = 0;   ///< from 1
  std::size_t step = 0;    ///< steps done in this epoch
  std::size_t images = 0;  ///< images seen in this epoch
  double loss = 0;         ///< running mean of this epoch
  double seconds = 0;      ///< spent on this epoch
};

/// Whom the trainer tells how it goes. Called on every rank.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_step(const StepProgress& progress) = 0;
  /// An epoch is complete and stands last in `run.epochs` (with the step records on rank 0, which
  /// may be given up here once they are written).
  virtual void on_epoch(RunRecord& run) = 0;
};

}  // namespace rueda
