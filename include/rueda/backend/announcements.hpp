#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rueda {

inline constexpr std::size_t kMostBuckets = 2048;

/// How often each bucket was announced, for devices whose work is done when a call returns.
class HostAnnouncements {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void announce(std::size_t bucket) {
    times_.at(bucket).store(std::chrono::steady_clock::now(), std::memory_order_relaxed);
    counts_.at(bucket).fetch_add(1, std::memory_order_release);
    counts_.at(bucket).notify_all();
  }
  std::uint64_t count(std::size_t bucket) const {
    return counts_.at(bucket).load(std::memory_order_acquire);
  }
  /// When it was announced last.
  Time time(std::size_t bucket) const { return times_.at(bucket).load(std::memory_order_relaxed); }
  /// Blocks until `count(bucket)` is at least `wanted`; sleeps meanwhile.
  void wait(std::size_t bucket, std::uint64_t wanted) const {
    for (std::uint64_t seen = count(bucket); seen < wanted; seen = count(bucket)) {
      counts_.at(bucket).wait(seen, std::memory_order_acquire);
    }
  }

 private:
  std::array<std::atomic<std::uint64_t>, kMostBuckets> counts_{};
  std::array<std::atomic<Time>, kMostBuckets> times_{};
};

}  // namespace rueda
