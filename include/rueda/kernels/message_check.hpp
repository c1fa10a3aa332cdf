#pragma once

#include <cstdint>

#include "element_hash.hpp"
#include "rueda/core/host_device.hpp"

namespace rueda::kernels {

/// One float's share of the check sum of a message, which is the sum of the shares modulo 2^64, so
/// in any order, on any device. The float's bits, times an odd weight of its place: whatever
/// happens to one float alone changes the sum, and so does an exchange of two that differ. Of the
/// kind of Fletcher's checksum, hence several times as fast on a CPU as element_hash.
RUEDA_HOST_DEVICE inline std::uint64_t message_check(std::uint64_t index, float value) {
  const std::uint32_t weight = static_cast<std::uint32_t>(index) * 0x3C6EF362U + 1U;
  return static_cast<std::uint64_t>(bits_of(value)) * weight;
}

}  // namespace rueda::kernels
