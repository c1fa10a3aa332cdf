#pragma once

#include <cstdint>
#include <cstring>

#include "base/host_device.hpp"
#include "base/random.hpp"

namespace rueda::kernels {

RUEDA_HOST_DEVICE inline std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// One element's share of a tensor's hash. The hash is the sum of the shares
/// modulo 2^64, so it may be computed in any order, by any number of threads,
/// on any device, with the same result.
RUEDA_HOST_DEVICE inline std::uint64_t element_hash(std::uint64_t logical_index, float value) {
  return mix64((logical_index << 32) ^ bits_of(value));
}

/// One float's share of the check sum of a message, which is the sum of the
/// shares modulo 2^64, so in any order, on any device. The float's bits, times
/// an odd weight of its place: whatever happens to one float alone changes the
/// sum, and so does an exchange of two that differ. Of the kind of Fletcher's
/// checksum, hence several times as fast on a CPU as element_hash.
RUEDA_HOST_DEVICE inline std::uint64_t message_check(std::uint64_t index, float value) {
  const std::uint32_t weight = std::uint32_t(index) * 0x3C6EF362U + 1U;
  return std::uint64_t(bits_of(value)) * weight;
}

/// 1 for a NaN or an infinity, else 0: the sum of these shares is how many there are.
RUEDA_HOST_DEVICE inline std::uint64_t nonfinite(std::uint64_t /*index*/, float value) {
  constexpr std::uint32_t kExponent = 0x7f800000U;
  return std::uint64_t((bits_of(value) & kExponent) == kExponent);
}

}  // namespace rueda::kernels
