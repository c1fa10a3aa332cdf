#pragma once

#include <cstddef>
#include <vector>

#include "rueda/train/timings.hpp"

namespace rueda {

/// Full steps take the whole global batch. The last step of an epoch is partial where the data set
/// leaves less; the two are never mixed in a mean.
enum class StepKind { full, partial, all };

bool is_kind(const StepRecord& step, std::size_t global_batch, StepKind kind) noexcept;

/// Sums over steps of one rank. Seconds, bytes.
struct RankSums {
  std::size_t steps = 0;
  std::size_t samples = 0;
  double seconds = 0;
  PhaseSeconds phases{};
  double busy = 0, wait = 0, add = 0;  ///< in the all-reduce
  double prepare = 0, copy = 0, copy_bytes = 0;

  void operator+=(const StepRecord& step);
  void operator+=(const RankSums& other);
};

/// Steps of one kind: enough for means, and for the spread of the slowest rank's time.
struct KindSums {
  std::vector<RankSums> ranks;
  std::vector<double> slowest;       ///< by step: the slowest rank's seconds
  std::vector<double> slowest_busy;  ///< by step: the longest time in the all-reduce

  void operator+=(const KindSums& other);
};

/// The sums that stand for an epoch's steps once these are released.
struct EpochSums {
  KindSums full, partial;
};

/// `records` are [rank][step]; every rank has the same steps.
EpochSums sum_up(const std::vector<std::vector<StepRecord>>& records, std::size_t global_batch);

}  // namespace rueda
