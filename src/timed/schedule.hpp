#pragma once

#include <array>
#include <cstdint>

#include "rueda/backend/compute_clock.hpp"
#include "rueda/backend/timed_compute.hpp"
#include "timepiece.hpp"

namespace rueda::timed {

/// What the jitter of a rank is drawn from, together with the number of the micro-batch.
struct JitterSeed {
  std::uint64_t seed = 1;
  int rank = 0;
};

/// How much longer (above 1) or shorter micro-batch `number` of a rank takes, evenly distributed.
double jitter_factor(const JitterSeed& seed, std::uint64_t number, double percent);

/// The course of a micro-batch. Every piece of work has a deadline, counted from the beginning of
/// the micro-batch, so that what one wait took too long is not added to the next.
class Schedule {
 public:
  /// Keeps `timepiece`, which outlives it.
  Schedule(Timepiece& timepiece, const TimedCompute& compute, const JitterSeed& jitter)
      : timepiece_(timepiece), compute_(compute), jitter_(jitter) {}

  /// Waits until `share` of the work of `images` images is done, too.
  void work(double share, int images);
  /// A micro-batch begins with Mark::forward.
  void mark(Mark mark);
  /// Between the marks of the last micro-batch.
  ComputeSeconds seconds() const;

 private:
  double between(Mark from, Mark to) const;

  Timepiece& timepiece_;
  TimedCompute compute_;
  JitterSeed jitter_;
  std::uint64_t micro_batches_ = 0;
  double factor_ = 1;  ///< of the micro-batch in hand
  Time due_;           ///< when all of its work so far is done
  std::array<Time, kMarks> at_{};
};

}  // namespace rueda::timed
