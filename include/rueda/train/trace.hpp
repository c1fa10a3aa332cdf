#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rueda/reduce/rank_group.hpp"
#include "rueda/reduce/reduce_journal.hpp"
#include "rueda/train/phase_timer.hpp"
#include "rueda/train/timings.hpp"

namespace rueda {

/// The offset of one rank's clock to rank 0's at two moments, between which it drifts evenly. Plain
/// bytes.
struct ClockFit {
  double first_time = 0;  ///< on this rank's clock
  ClockOffset first;
  double last_time = 0;
  ClockOffset last;

  /// A time on this rank's clock as a time on rank 0's.
  double to_rank0(double time) const noexcept;
  double error() const noexcept { return first.error > last.error ? first.error : last.error; }
};

/// Fills BucketRecord::wait and StepRecord::all_reduce_wait of an epoch. A bucket's all-reduce
/// cannot end before the last rank has begun it, so a rank waits from its own begin until then, as
/// far as it spent that time in messages. All arguments are by rank; every rank has records of the
/// same steps, which follow one another, and of the same buckets in the same order.
void book_waits(std::vector<std::vector<StepRecord>>& steps,
                std::vector<std::vector<BucketRecord>>& buckets,
                const std::vector<ClockFit>& clocks);

/// Which of a rank's rows a span lies in.
enum class TraceLane : std::uint16_t {
  training,    ///< phases of the thread that trains
  buckets,     ///< buckets from the moment they are complete to the one they are summed
  all_reduce,  ///< messages and additions
};

/// One stretch in a trace. Plain bytes: it is gathered over ranks as it is.
struct TraceSpan {
  double begin = 0;  ///< seconds on the rank's steady clock; once gathered, on rank 0's
  double end = 0;
  std::uint32_t step = 0;  ///< global, from 1
  TraceLane lane = TraceLane::training;
  std::int16_t bucket = -1;  ///< -1: of none
  std::int32_t part = -1;    ///< step of the ring, from 0; -1: none
  std::int32_t to = -1;      ///< rank; -1: none
  std::int32_t from = -1;
  std::array<char, 24> name{};

  void set_name(std::string_view text);
};

/// What one rank's step leaves in the trace.
std::vector<TraceSpan> trace_step(std::uint32_t step, const std::vector<PhaseSpan>& phases,
                                  const std::vector<BucketRecord>& buckets,
                                  const std::vector<ReduceSpan>& acts);

/// Moves a rank's spans to rank 0's clock.
void align(std::vector<TraceSpan>& spans, const ClockFit& clock);

}  // namespace rueda
