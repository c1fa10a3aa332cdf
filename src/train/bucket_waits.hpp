#pragma once

#include <vector>

#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/timings.hpp"

namespace rueda {

/// How one rank's clock stood against rank 0's at two moments, between which it drifts evenly.
/// Plain bytes.
struct ClockFit {
  double first_time = 0;  ///< on this rank's clock
  ClockOffset first;
  double last_time = 0;
  ClockOffset last;

  /// A time of this rank's on rank 0's clock.
  double to_rank0(double time) const noexcept;
  double error() const noexcept { return first.error > last.error ? first.error : last.error; }
};

/// Fills BucketRecord::wait and StepRecord::all_reduce_wait of an epoch: a bucket's all-reduce
/// cannot end before the last rank has begun it, so what lies between a rank's own beginning and
/// that is waiting, as far as the rank spent it in messages. All arguments by rank; the records of
/// each rank are those of the same steps, which follow one another, and buckets in the same order.
void book_waits(std::vector<std::vector<StepRecord>>& steps,
                std::vector<std::vector<BucketRecord>>& buckets,
                const std::vector<ClockFit>& clocks);

}  // namespace rueda
