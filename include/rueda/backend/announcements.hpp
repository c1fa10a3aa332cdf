#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rueda {

inline constexpr std::size_t kMostBuckets = 512;

/// How often each bucket was announced, for devices whose work is done when a call returns.
class HostAnnouncements {
 public:
  void announce(std::size_t bucket) { counts_.at(bucket).fetch_add(1, std::memory_order_release); }
  std::uint64_t count(std::size_t bucket) const {
    return counts_.at(bucket).load(std::memory_order_acquire);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kMostBuckets> counts_{};
};

}  // namespace rueda
