#pragma once

#include <cstdint>

#include "rueda/core/random.hpp"

namespace rueda {

/// The random draws of one image, in order.
class Draws {
 public:
  explicit Draws(std::uint64_t key) : key_(key) {}

  std::uint64_t bits() noexcept { return random_bits(key_, count_++); }
  bool coin() noexcept { return (bits() >> 63) != 0; }
  /// An integer from `low` to `high`, both included.
  int between(int low, int high) noexcept {
    return low + static_cast<int>(to_below(bits(), static_cast<std::uint32_t>(high - low + 1)));
  }

 private:
  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

}  // namespace rueda
