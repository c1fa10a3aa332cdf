#pragma once

#include <cstdint>
#include <cstring>

#include "rueda/core/host_device.hpp"

namespace rueda::kernels {

/// The upper half of an fp32 number: its sign, its 8 bits of exponent, 7 bits of mantissa.
struct Bfloat16 {
  std::uint16_t bits = 0;
};

RUEDA_HOST_DEVICE inline float to_float(float value) { return value; }

RUEDA_HOST_DEVICE inline float to_float(Bfloat16 value) {
  const std::uint32_t bits = std::uint32_t(value.bits) << 16U;
  float result = 0;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

/// `value` in the type of an activation: itself, or rounded to the nearest
/// bf16, ties to even. A NaN stays one.
template <typename T>
RUEDA_HOST_DEVICE inline T from_float(float value);

template <>
RUEDA_HOST_DEVICE inline float from_float<float>(float value) {
  return value;
}

template <>
RUEDA_HOST_DEVICE inline Bfloat16 from_float<Bfloat16>(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16U) & 1U);
  const std::uint32_t kept = value == value ? rounded : bits | 0x400000U;
  return {std::uint16_t(kept >> 16U)};
}

}  // namespace rueda::kernels
