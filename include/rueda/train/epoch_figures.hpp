#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/statistics.hpp"
#include "rueda/backend/device_monitor.hpp"
#include "rueda/train/timings.hpp"

namespace rueda {

// A run keeps these figures of an epoch, and run.json has them. Seconds, bytes;
// unknown numbers are NaN.

/// Loss and accuracy over a whole split, all ranks, exact sample count.
struct Score {
  double loss = 0;
  double accuracy = 0;
  std::size_t samples = 0;
  double seconds = 0;
};

/// Why there is no noise scale.
enum class NoNoiseScale { one_part, few_steps, not_above_noise };
constexpr auto words_of(NoNoiseScale) {
  return std::array{"one part a step", "few steps", "gradient not above noise"};
}

/// The gradient noise scale over some steps (docs/metrics.md, "Gradient noise scale"). NaN: not
/// determined.
struct GradientNoise {
  double scale = NAN;            ///< images; never below 0
  double low = NAN, high = NAN;  ///< of its 90 % interval
  /// Mean over the steps of the estimate of |G|^2, which may be below 0.
  double gradient_norm2 = NAN;
  double variance = NAN;  ///< the same of S, the trace of the covariance of an image's gradient
  std::size_t batch = 0;  ///< images of a full step
  std::size_t parts = 0;  ///< of a full step: ranks' micro-batches that have images
  std::size_t steps = 0;  ///< that were measured and have two parts at least
  std::optional<NoNoiseScale> reason;  ///< none: there is a scale

  /// Of a step of `batch` images: what an image in it teaches, over what one in a tiny batch does.
  double learning_efficiency() const noexcept { return 1 / (1 + double(batch) / scale); }
};

/// Sums over steps of one rank. Seconds, bytes.
struct RankSums {
  std::size_t steps = 0;
  std::size_t samples = 0;
  double seconds = 0;
  PhaseSeconds phases{};
  double busy = 0, wait = 0, add = 0;  ///< in the all-reduce
  double prepare = 0, copy = 0, copy_bytes = 0;
  double cores_got = 0, cores_wanted = 0;  ///< as StepRecord::cores

  void operator+=(const StepRecord& step);
  void operator+=(const RankSums& other);
};

/// Steps of one kind: enough for means, and for the spread of the slowest rank's time.
struct KindSums {
  std::vector<RankSums> ranks;
  std::vector<double> slowest;       ///< by step: the slowest rank's seconds
  std::vector<double> slowest_busy;  ///< by step: the longest time in the all-reduce
  /// By step: the shortest time that a rank was blocked by the all-reduce. It is the last to
  /// arrive, and waits for messages and adding alone. Empty in checkpoints of older versions.
  std::vector<double> least_exposed;

  void operator+=(const KindSums& other);
};

/// Sums of an epoch's steps, from which the figures of several epochs are made.
struct EpochSums {
  KindSums full, partial;

  void operator+=(const EpochSums& other) {
    full += other.full;
    partial += other.partial;
  }
};

/// The rank whose steps are the longest without the phase all_reduce. Seconds per step above the
/// median of the other ranks; 0 on one rank.
struct LateRank {
  std::size_t rank = 0;
  double useful = 0;      ///< of the step without the all-reduce
  std::size_t phase = 0;  ///< that is most above
  double seconds = 0;     ///< of this phase
};

/// Seconds per step of one kind, over one or more epochs; `steps` is 0 if there was none. The
/// phases' means add up to the step's.
struct StepBreakdown {
  std::size_t steps = 0;
  std::array<Spread, kPhases> phases;  ///< over ranks, of the rank's mean over steps
  Spread step;                         ///< the same of the whole step
  Spread busy;                         ///< inside the all-reduce, hidden or not
  Spread wait;                         ///< of the busy time, waiting for later ranks
  Spread transfer;                     ///< of the busy time, the rest: messages
  Spread add;                          ///< of the busy time, adding
  Spread prepare;                      ///< of host threads preparing batches
  Spread copy;                         ///< of copying batches to the device
  Spread copy_bytes;                   ///< bytes of these copies
  LateRank latest;
  Spread slowest;                 ///< over steps, of the slowest rank's seconds
  double slowest_busy = 0;        ///< mean over steps of the slowest rank's busy time
  double exposed_transfer = NAN;  ///< mean over steps of the least exposed all-reduce of a rank
};

/// One bucket of gradients, over steps and ranks.
struct BucketFigures {
  double bytes = NAN;
  Spread queued;  ///< from the moment it was complete until its all-reduce began
  Spread busy;    ///< in the all-reduce
  Spread wait;    ///< of this, for later ranks
  Spread transfer, add;
};

/// Steps of both kinds together, and what they summed.
struct AllSteps {
  StepBreakdown mean;
  double bytes = NAN;               ///< summed in a step
  double algbw = NAN, busbw = NAN;  ///< GB/s, of the slowest rank's busy time
  std::vector<BucketFigures> buckets;
};

/// One rank in one epoch. The phases of its sums add up to their `seconds`.
struct RankFigures {
  std::size_t rank = 0;
  RankSums sums;            ///< over all steps
  double core_share = NAN;  ///< of the time of its cores that it got
  Spread full_step;         ///< seconds of its full steps
  Spread full_compute;      ///< the same without what it waited for the all-reduce
};

/// An epoch over its ranks. Each rank gives the sum over its steps.
struct OverRanks {
  Spread seconds, useful, wait;  ///< useful: without the all-reduce; wait: of the busy time
  Spread core_share;             ///< of the ranks of which it is known
  std::size_t slowest = 0;       ///< the rank with most useful seconds
};

/// One epoch, complete on rank 0 only: an element of run.json's `epochs`, whether it was just
/// trained or read from a file. It has the records of its steps until release_steps makes figures
/// and sums of them, so that long runs need no more memory than short ones.
struct EpochRecord {
  std::size_t epoch = 0;  ///< from 1
  std::size_t steps = 0;
  std::size_t ranks = 0;
  std::vector<std::size_t> rank_batches;  ///< samples per rank in a full step
  Score train;                            ///< running score of the epoch's own steps
  std::optional<Score> test;
  double learning_rate = 0;      ///< in its last step
  double seconds = 0;            ///< training steps only, barrier to barrier, slowest rank
  double images_per_second = 0;  ///< train.samples / seconds
  /// Of rank 0, from the end of the epoch before, or of start-up, without steps and evaluation:
  /// comparing clocks and replicas, gathering records, writing files and checkpoints.
  double bookkeeping_seconds = NAN;
  double clock_seconds = NAN;  ///< of these, comparing clocks
  std::string parameter_hash;  ///< 16 hex digits over all parameters and running statistics
  /// Where a process resumed a run with this epoch: the steps of it that an
  /// earlier process took. There are no records of these, and the time includes
  /// warming up.
  std::optional<std::size_t> resumed_at_step;
  Energy energy;                                ///< of all ranks and steps
  std::optional<GradientNoise> gradient_noise;  ///< of this process's steps; none: not measured
  EfficiencySeconds efficiency;                 ///< see efficiency_seconds
  // The members below are made of the steps' records.
  std::array<Spread, kPhases> phases;  ///< sums over all its steps, over ranks
  StepBreakdown full_step, partial_step;
  AllSteps all_steps;
  OverRanks over_ranks;
  std::vector<RankFigures> of_ranks;  ///< [rank]; of many ranks only until they are written
  /// [rank]: of its GPU, for all ranks that share it, and its host, in this process's steps.
  std::vector<Energy> rank_energy;
  ByRank<StepRecord> step_records;      ///< [rank][step]
  ByRank<BucketRecord> bucket_records;  ///< [rank][step and bucket]
  std::vector<ClockFit> clocks;         ///< [rank]
  bool released = false;                ///< the figures and `sums` stand for the records
  EpochSums sums;
};

}  // namespace rueda
