#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "rueda/study/study.hpp"

namespace rueda {

/// A value and how far it may be off: the range over repeats, or what rounding leaves. low <= value
/// <= high; all NaN if unknown.
struct Estimate {
  double value = kUnknown;
  double low = kUnknown;
  double high = kUnknown;
};

/// low = value = high: no spread is known.
inline Estimate exactly(double value) noexcept { return {value, value, value}; }
/// From `value` - `half` to `value` + `half`: a number printed in steps of 2 `half`.
inline Estimate rounded(double value, double half) noexcept {
  return {value, value - half, value + half};
}
inline bool known(const Estimate& estimate) noexcept { return std::isfinite(estimate.value); }
inline bool is_exact(const Estimate& estimate) noexcept { return estimate.low == estimate.high; }

/// Extremes of the quotient of positive values that are independent of each other.
inline Estimate operator/(const Estimate& a, const Estimate& b) noexcept {
  return {a.value / b.value, a.low / b.high, a.high / b.low};
}
inline Estimate operator*(const Estimate& a, double factor) noexcept {
  return {a.value * factor, a.low * factor, a.high * factor};
}
/// `numerator` / a: for rates.
inline Estimate per(double numerator, const Estimate& a) noexcept { return exactly(numerator) / a; }

enum class Processor { cpu, gpu, timed };
/// "CPU", "GPU", "timed".
const char* to_string(Processor processor);

/// Who trained what on which kind of processor. Only runs of equal subjects share a series.
struct Subject {
  std::string source;  ///< "rueda", "Keras log FILE", "Torres 2026, table 10.4" ...
  std::string model;
  std::string variant;  ///< other options that differ, in words; empty if none do
  Processor processor = Processor::cpu;
  std::size_t image_size = 0;  ///< 0: unknown

  auto operator<=>(const Subject&) const = default;
};

/// One training run as a scaling study sees it, or all repeats of one: of rueda, from the log of a
/// framework, or from a published table. Times in seconds.
struct Observation : Subject {
  std::size_t ranks = 1;  ///< P; replicas, GPUs
  std::size_t hosts = 1;
  std::size_t rank_batch = 0;    ///< images of each rank in a full step; 0 if ranks differ
  std::size_t global_batch = 0;  ///< of all ranks
  double images = kUnknown;      ///< of an epoch
  std::size_t steps = 0;         ///< of an epoch, partial ones included
  std::size_t repeats = 1;

  Estimate epoch;        ///< steady: epochs after the first
  Estimate first_epoch;  ///< unknown if a log begins later
  Estimate full_step;    ///< steady, slowest rank
  /// Time of an epoch divided by its steps, where a log prints that and no full step.
  Estimate mean_step;
  /// `epoch` as its log prints it, in whole seconds, say; unknown if nothing was rounded.
  Estimate printed_epoch;

  /// Ranks ran more threads than there were cores: shown, left out of fits.
  bool oversubscribed = false;
  /// Only one epoch: its time includes warm-up.
  bool includes_warm_up = false;
  std::vector<const RunResult*> runs;  ///< of rueda; empty for others
};

/// A finished or interrupted run of rueda; it has to outlive the observation. Throws
/// std::invalid_argument if it has no epoch.
Observation observe(const RunResult& run);

/// All runs that have an epoch. `variant` names the options that change the time of a step and are
/// not the same in all runs ("overlap off, wire bf16").
std::vector<Observation> observe_all(const std::vector<RunResult>& runs);

/// Repeats of one configuration as one observation: of each time the median, the least low and the
/// greatest high of those that are known.
Observation merged(const std::vector<const Observation*>& repeats);

/// Whether their epochs have the same images, or are both of an unknown number.
inline bool same_images(const Observation& a, const Observation& b) noexcept {
  return a.images == b.images || (std::isnan(a.images) && std::isnan(b.images));
}

/// The first of `groups` that `is_same` accepts, or a new one: groups are in the order in which
/// their members were given.
template <typename Members, typename IsSame>
Members& group_of(std::vector<Members>& groups, IsSame is_same) {
  const auto found = std::ranges::find_if(groups, is_same);
  return found == groups.end() ? groups.emplace_back() : *found;
}

}  // namespace rueda
