#pragma once

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "rueda/train/timings.hpp"

namespace rueda {

/// A stretch of a step.
struct PhaseSpan {
  Phase phase = Phase::other;
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
};

/// Books every moment of a step on exactly one phase, so that the phases add up to the step.
class PhaseTimer {
 public:
  /// A step begins, in phase `other`.
  void begin() {
    seconds_ = {};
    current_ = Phase::other;
    last_ = Clock::now();
    start_ = last_;
  }

  /// From now on time counts for `phase`.
  void enter(Phase phase) {
    const auto now = Clock::now();
    seconds_[static_cast<std::size_t>(current_)] += elapsed(last_, now);
    keep(current_, last_, now);
    last_ = now;
    current_ = phase;
  }

  /// Books the time since the current phase began: on `parts` as far as it reaches, the rest on
  /// `other`. The current phase goes on from now.
  void divide(const PhaseSeconds& parts) {
    const auto now = Clock::now();
    const double passed = elapsed(last_, now);
    last_ = now;
    double sum = 0;
    for (const double part : parts) sum += part;
    const double share = sum > passed ? passed / sum : 1.0;  // clocks differ in their last digits
    for (std::size_t i = 0; i < kPhases; ++i) seconds_[i] += parts[i] * share;
    seconds_[static_cast<std::size_t>(Phase::other)] += passed - sum * share;
    keep_parts(parts, share, sum * share, now);
  }

  /// From now on single stretches are kept too, until they are taken.
  void keep_spans(bool keeps) { keeps_ = keeps; }
  std::vector<PhaseSpan> take_spans() { return std::exchange(spans_, {}); }

  /// The step ends; returns its seconds.
  double end() {
    enter(Phase::other);
    return elapsed(start_, last_);
  }

  const PhaseSeconds& seconds() const noexcept { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  static double elapsed(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }

  void keep(Phase phase, Clock::time_point begin, Clock::time_point end) {
    if (keeps_ && end > begin) spans_.push_back({phase, begin, end});
  }
  /// They came one after another, in the order of the phases, and the last ended just now.
  void keep_parts(const PhaseSeconds& parts, double share, double sum, Clock::time_point end) {
    double before = sum;
    const auto ago = [end](double seconds) {
      return end -
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    };
    for (std::size_t i = 0; i < kPhases; ++i) {
      const double rest = before - parts[i] * share;
      keep(static_cast<Phase>(i), ago(before), ago(rest));
      before = rest;
    }
  }

  bool keeps_ = false;
  std::vector<PhaseSpan> spans_;
  PhaseSeconds seconds_{};
  Phase current_ = Phase::other;
  Clock::time_point start_, last_;
};

/// Seconds since it was made, for times outside steps.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace rueda
