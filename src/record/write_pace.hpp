#pragma once

#include <cstddef>

namespace rueda {

/// Decides at the end of which epochs run.json is written as a whole, so that it
/// costs no more of a run the more epochs there are, neither in time nor in bytes:
/// once more epochs are missing than a 32nd of those in it, if the last writing took
/// at most 2 % of the time since it began, and otherwise once an eighth is missing.
/// So up to 32 epochs that take longer than 50 writings are all in it at once.
class WritePace {
 public:
  /// `epochs` are in the file at the moment `now`, in seconds.
  WritePace(std::size_t epochs, double now) : epochs_(epochs), begun_(now) {}

  bool due(std::size_t epochs, double now) const noexcept {
    const std::size_t missing = epochs - epochs_;
    if (missing > epochs_ / 8) return true;
    return missing > epochs_ / 32 && kMostShare * (now - begun_) >= seconds_;
  }
  /// `epochs` were written between two moments.
  void wrote(std::size_t epochs, double begin, double end) noexcept {
    epochs_ = epochs;
    begun_ = begin;
    seconds_ = end - begin;
  }

 private:
  static constexpr double kMostShare = 0.02;

  std::size_t epochs_;
  double begun_;
  double seconds_ = 0;
};

}  // namespace rueda
