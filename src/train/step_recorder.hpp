#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "reduce/reduce_journal.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/device_monitor.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/run_record.hpp"
#include "rueda/train/timings.hpp"
#include "rueda/train/trainer.hpp"
#include "train/balance.hpp"
#include "train/gradient_reducer.hpp"
#include "train/phase_timer.hpp"
#include "train/train_input.hpp"

namespace rueda {

/// Fills BucketRecord::wait and StepRecord::all_reduce_wait of an epoch. A
/// bucket's all-reduce cannot end before the last rank has begun it, so a rank
/// waits from its own begin until then, as far as it spent that time in
/// messages. All arguments are by rank; every rank has records of the same
/// steps, which follow one another, and of the same buckets in the same order.
void book_waits(ByRank<StepRecord>& steps, ByRank<BucketRecord>& buckets,
                const std::vector<ClockFit>& clocks);

/// The spans of one rank's step in the trace.
std::vector<TraceSpan> trace_step(std::uint32_t step, const std::vector<PhaseSpan>& phases,
                                  const std::vector<BucketRecord>& buckets,
                                  const std::vector<ReduceSpan>& acts);

/// Moves a rank's spans to rank 0's clock.
void align(std::vector<TraceSpan>& spans, const ClockFit& clock);

/// The ranks whose spans a trace shows, ascending. Of more than kTracedRanks: rank 0, and others
/// evenly spaced in the order of their useful time, from the fastest to the slowest. `steps` are
/// [rank][step].
std::vector<std::size_t> choose_traced(const ByRank<StepRecord>& steps);
inline constexpr std::size_t kTracedRanks = 8;
/// Spans that a trace has at most, so that rank 0 holds no more than 32 MB of them.
inline constexpr std::size_t kMostTraceSpans = 500'000;

/// Leaves one sample in each `stride` seconds, the first.
void thin_samples(std::vector<DeviceSample>& samples, double stride);

/// Samples a GPU from a thread of its own for as long as it lives: once at the
/// beginning, then in every `interval` seconds.
class DeviceWatch {
 public:
  /// Both outlive it.
  DeviceWatch(DeviceMonitor& monitor, const Stopwatch& since_start, double interval = 1);

  double energy_joules();
  /// Those since the last call.
  std::vector<DeviceSample> take();

 private:
  void sample();

  DeviceMonitor& monitor_;
  const Stopwatch& since_start_;
  std::mutex mutex_;
  std::vector<DeviceSample> samples_;
  std::jthread thread_;  // last: it uses the others
};

/// Times one rank's steps and keeps the records of the current epoch: steps,
/// buckets, trace, energy. It talks to the other ranks only before an epoch,
/// after it, and in `gather`; never inside a step.
class StepRecorder {
 public:
  explicit StepRecorder(const TrainerParts& parts);

  /// Collective: an epoch begins; the records of the one before are dropped.
  void open_epoch();
  /// `global_step` counts from 1.
  void begin_step(std::size_t global_step);
  /// The last step's times; zeros before the first step has ended.
  const RankTimes& last_times() const { return last_; }
  /// The step that runs is timed by it.
  PhaseTimer& timer() { return timer_; }
  /// A micro-batch is computed, which a device timed itself. The host was
  /// already waiting for the rest, so the device's work for the input counts
  /// for `input`.
  void divide(const ComputeSeconds& seconds, Phase input);
  /// A stretch of it in which the host's threads computed.
  void computed(const CoreTime& cores);
  /// The step ends. `step` says which; scores and times are filled in here.
  void end_step(StepRecord step, const InputBusy& input);
  /// The sums of the next step, in order, and the squared norm of its gradient if that was
  /// measured: they may be known later than its times.
  void score(const StepSums& sums, double gradient_norm2) {
    scores_.push_back({sums, gradient_norm2});
  }
  /// Collective: the epoch's last step is over, and scored.
  void close_epoch();
  /// Collective: of the current epoch until now, with its steps by an earlier process.
  Energy energy(const std::vector<RankInfo>& ranks);
  /// The cost of this rank's steps: medians of the epoch's full steps so far. It has no time
  /// per image where fewer than three of these had images of its own.
  MeasuredCost cost() const;
  /// Those of the epoch, scored once it is closed.
  std::span<const StepRecord> steps() const { return steps_; }
  /// Collective: on rank 0 `epoch` and `run` get every rank's records, clocks,
  /// energy and samples of its GPU.
  void gather(RunRecord& run, EpochRecord& epoch);

 private:
  struct StepScore {
    StepSums sums;
    double gradient_norm2;

    StepNorms norms() const;
  };
  /// Collective.
  void note_clock();
  Energy counters();
  void gather_trace(RunRecord& run, const EpochRecord& epoch);
  void gather_samples(RunRecord& run);
  /// Collective: whether this rank is one of those that the trace shows.
  bool is_traced(const EpochRecord& epoch);

  RankGroup& group_;
  std::optional<DeviceWatch> watch_, host_;
  GradientReducer& reducer_;
  std::size_t global_batch_;
  std::size_t traced_;  ///< steps of the run whose single acts this rank keeps for the trace
  std::size_t global_step_ = 0;
  PhaseTimer timer_;
  RankTimes last_;
  CoreTime cores_;  ///< of the step that runs
  std::vector<StepRecord> steps_;
  std::vector<StepScore> scores_;  ///< of the same steps
  std::vector<BucketRecord> buckets_;
  ClockFit clock_;  ///< from the end of the epoch before, or its own begin, to its end
  bool compared_ = false;
  double clock_seconds_ = 0;  ///< of comparing clocks, of the epoch that runs
  std::vector<TraceSpan> trace_;
  std::size_t spans_ = 0;                    ///< kept of this rank so far
  std::vector<std::uint32_t> traced_ranks_;  ///< empty: they are still to be chosen
  double sample_stride_ = 1;                 ///< seconds
  Energy energy_;        ///< at first of the counters, then of the epoch's steps
  Energy before_{0, 0};  ///< of the current epoch's steps by an earlier process
};

}  // namespace rueda
