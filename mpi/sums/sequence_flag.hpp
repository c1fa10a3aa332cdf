#pragma once

#include <atomic>
#include <cstdint>

namespace rueda {

/// A number that one process counts up and others wait for, in memory that they share. Zeroed
/// memory is a flag at 0. A waiting process spins for a moment, then lets others have its core,
/// then sleeps: more ranks than cores do not burn what they wait for. What was written before
/// `raise` is seen after `await`.
struct alignas(64) SequenceFlag {
  std::atomic<std::uint32_t> value{0};
  std::atomic<std::uint32_t> sleepers{0};

  /// By its owner: the value becomes `to`.
  void raise(std::uint32_t to) noexcept;
  /// Whether `target` has been reached. Counts in a circle: below 2^31 apart.
  bool reached(std::uint32_t target) const noexcept {
    return static_cast<std::int32_t>(value.load(std::memory_order_acquire) - target) >= 0;
  }
  /// Spins for about a microsecond; whether the target was reached.
  bool reached_soon(std::uint32_t target) const noexcept;
  void await(std::uint32_t target) noexcept;
};

}  // namespace rueda
