#pragma once

#include <cstdint>
#include <cstring>

#include "rueda/core/host_device.hpp"
#include "rueda/core/random.hpp"

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

}  // namespace rueda::kernels
