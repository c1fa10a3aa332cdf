#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <thread>

#include "rueda/backend/compute_clock.hpp"
#include "rueda/backend/precision.hpp"

namespace rueda::timed {

using Time = std::chrono::steady_clock::time_point;

/// Where time comes from: the machine's, or a test's.
class Timepiece {
 public:
  virtual ~Timepiece() = default;
  virtual Time now() = 0;
  /// Returns at once if `moment` has passed.
  virtual void wait_until(Time moment) = 0;
};

/// Sleeps, so that more ranks than cores can wait at the same time.
class SteadyTimepiece final : public Timepiece {
 public:
  Time now() override { return std::chrono::steady_clock::now(); }
  void wait_until(Time moment) override { std::this_thread::sleep_until(moment); }
};

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
