#pragma once

#include <chrono>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "rueda/train/timings.hpp"

namespace rueda {

/// A stretch of a step.
struct PhaseSpan {
  Phase phase = Phase::other;
  SteadyTime begin;
  SteadyTime end;
};

/// Books every moment of a step on exactly one phase, so that the phases add up to the step.
class PhaseTimer {
 public:
  /// A step begins, in phase `other`.
  void begin() {
    seconds_ = {};
    current_ = Phase::other;
    start_ = last_ = SteadyClock::now();
  }

  /// From now on time counts for `phase`.
  void enter(Phase phase) {
    const SteadyTime now = SteadyClock::now();
    seconds_[std::size_t(current_)] += seconds_between(last_, now);
    keep(current_, last_, now);
    last_ = now;
    current_ = phase;
  }

  /// Books the time since the current phase began: on `parts` as far as it
  /// reaches, the rest on `optimizer`: a device that works on its own was still
  /// at the update of the step before. The current phase goes on from now.
  void divide(const PhaseSeconds& parts) {
    const SteadyTime now = SteadyClock::now();
    const double passed = seconds_between(last_, now);
    last_ = now;
    const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
    const double share = sum > passed ? passed / sum : 1.0;  // clocks differ in their last digits
    for (std::size_t i = 0; i < kPhases; ++i) seconds_[i] += parts[i] * share;
    seconds_[std::size_t(Phase::optimizer)] += passed - sum * share;
    keep(Phase::optimizer, now - clock_seconds(passed), now - clock_seconds(sum * share));
    keep_parts(parts, share, sum * share, now);
  }

  /// From now on single stretches are kept too, until they are taken.
  void keep_spans(bool keeps) { keeps_ = keeps; }
  std::vector<PhaseSpan> take_spans() { return std::exchange(spans_, {}); }

  /// The step ends; returns its seconds.
  double end() {
    enter(Phase::other);
    return seconds_between(start_, last_);
  }

  const PhaseSeconds& seconds() const noexcept { return seconds_; }

 private:
  static SteadyClock::duration clock_seconds(double seconds) {
    return std::chrono::duration_cast<SteadyClock::duration>(
        std::chrono::duration<double>(seconds));
  }
  void keep(Phase phase, SteadyTime begin, SteadyTime end) {
    if (keeps_ && end > begin) spans_.push_back({phase, begin, end});
  }
  /// They came one after another, in the order of the phases, and the last ended just now.
  void keep_parts(const PhaseSeconds& parts, double share, double sum, SteadyTime end) {
    double before = sum;
    for (std::size_t i = 0; i < kPhases; ++i) {
      const double rest = before - parts[i] * share;
      keep(static_cast<Phase>(i), end - clock_seconds(before), end - clock_seconds(rest));
      before = rest;
    }
  }

  bool keeps_ = false;
  std::vector<PhaseSpan> spans_;
  PhaseSeconds seconds_{};
  Phase current_ = Phase::other;
  SteadyTime start_, last_;
};

}  // namespace rueda
