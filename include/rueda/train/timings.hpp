#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>

#include "base/core_time.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "rueda/reduce/exchange.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda {

/// The phases on a step's critical path. They are contiguous, so they add up to the step.
enum class Phase : int {
  load,  ///< making the batch, or what the step waited for the host to prepare it
  copy,  ///< what the step waited for it to be copied to the device
  forward,
  loss,  ///< softmax, cross entropy and its gradient
  backward,
  all_reduce,  ///< what the step waited for it: the *exposed* part
  optimizer,   ///< update of parameters and running statistics, packing of weights
  other,       ///< whatever is left: bookkeeping, replica checks
};
inline constexpr std::size_t kPhases = 8;
inline constexpr auto kAllReduce = std::size_t(Phase::all_reduce);
inline constexpr std::array<std::string_view, kPhases> kPhaseNames = {
    "load", "copy", "forward", "loss", "backward", "all_reduce", "optimizer", "other"};

using PhaseSeconds = std::array<double, kPhases>;

/// One bucket of one step on one rank. Moments are seconds on the rank's steady
/// clock. Plain bytes: it is gathered over ranks as it is.
struct BucketRecord {
  std::uint32_t epoch = 0;   ///< from 1
  std::uint32_t step = 0;    ///< from 1
  std::uint32_t bucket = 0;  ///< from 0
  std::uint32_t unused = 0;  ///< so that no byte is left open
  double ready = 0;          ///< its gradients were complete on this rank
  double begin = 0;          ///< its all-reduce began
  double end = 0;            ///< and ended
  double transfer = 0;       ///< seconds of these inside MPI calls
  double add = 0;            ///< seconds of these adding
  double wait = 0;           ///< of `transfer`, waiting for ranks that began later; known on rank 0
  TimedMessage long_message = {};  ///< of its messages, by TimedMessage::keep_longer
};

/// The gradients of one step at two batch sizes. A part is a micro-batch of a rank that has images:
/// b of the step's B, with mean gradient g_i; g is the step's.
struct StepNorms {
  double images = 0;            ///< B, over all ranks
  double parts = 0;             ///< 0: not measured
  double part_norm2 = NAN;      ///< sum over the parts of b / B |g_i|^2
  double gradient_norm2 = NAN;  ///< |g|^2

  bool measured() const noexcept { return parts > 0; }
};

/// One step of one rank. Plain bytes: it is gathered over ranks as it is.
struct StepRecord {
  std::uint32_t epoch = 0;    ///< from 1
  std::uint32_t step = 0;     ///< from 1
  std::uint32_t samples = 0;  ///< of this rank, all micro-batches
  std::uint32_t global_samples = 0;
  double seconds = 0;  ///< of this rank; the sum of `phases`
  PhaseSeconds phases{};
  double all_reduce_busy = 0;  ///< seconds inside the all-reduce, hidden or not
  double all_reduce_add = 0;   ///< of these, adding
  double all_reduce_wait = 0;  ///< of these, waiting for ranks whose gradients came later
  double prepare_busy = 0;     ///< seconds of host threads preparing its batches, hidden or not
  double copy_busy = 0;        ///< seconds of copying them to the device, hidden or not
  std::uint64_t copy_bytes = 0;
  double train_loss = 0;      ///< mean over the step's samples, all ranks
  double train_accuracy = 0;  ///< over the same
  double learning_rate = 0;   ///< of this step's update
  CoreTime cores{};           ///< of the threads that compute, in forward, loss and backward
  StepNorms norms{};          ///< of all ranks
};

/// What a rank reports of its last step in its slot of the gradient arena, so
/// that every rank knows all of them at each step. Seconds.
struct RankTimes {
  std::array<float, kPhases> phases{};  ///< all 0 before its first step has ended

  double step() const { return std::accumulate(phases.begin(), phases.end(), 0.0); }
  /// What it did not wait for others.
  double useful() const { return step() - double(phases[std::size_t(Phase::all_reduce)]); }
};
static_assert(sizeof(RankTimes) == kSlotFloats * sizeof(float));

/// Seconds of an epoch from which the factors of its parallel efficiency follow
/// (docs/metrics.md, "Efficiency"). NaN: not known.
struct EfficiencySeconds {
  double useful_mean = NAN;    ///< in steps without the phase all_reduce, mean over ranks
  double useful_max = NAN;     ///< the same on the rank with most of it
  double ideal_network = NAN;  ///< that the same steps take where messages take no time
  double seconds = NAN;        ///< barrier to barrier

  double load_balance() const noexcept { return useful_mean / useful_max; }
  double serialisation() const noexcept { return useful_max / ideal_network; }
  double transfer() const noexcept { return ideal_network / seconds; }
  double communication() const noexcept { return useful_max / seconds; }
  double parallel() const noexcept { return useful_mean / seconds; }
};

/// The offset of one rank's clock to rank 0's at two moments, between which it
/// drifts evenly. Plain bytes.
struct ClockFit {
  double first_time = 0;  ///< on this rank's clock
  ClockOffset first;
  double last_time = 0;
  ClockOffset last;

  /// A time on this rank's clock as a time on rank 0's.
  double to_rank0(double time) const noexcept {
    const double span = last_time - first_time;
    const double part = span > 0 ? (time - first_time) / span : 0.0;
    return time + first.seconds + part * (last.seconds - first.seconds);
  }
  double error() const noexcept { return first.error > last.error ? first.error : last.error; }
};

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

  void set_name(std::string_view text) {
    name = {};
    text.copy(name.data(), name.size() - 1);
  }
};

}  // namespace rueda
