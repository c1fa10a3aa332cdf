#pragma once

#include <cstdint>
#include <cstring>

#include "base/host_device.hpp"

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
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  Bfloat16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
#else
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16U) & 1U);
  const std::uint32_t kept = value == value ? rounded : bits | 0x400000U;
  return {std::uint16_t(kept >> 16U)};
#endif
}

/// Two at once: an instruction of their own on a device, which loses a NaN's payload.
template <typename T>
RUEDA_HOST_DEVICE inline void pair_from_floats(T (&to)[2], float first, float second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (sizeof(T) == sizeof(Bfloat16)) {
    std::uint32_t both = 0;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    std::memcpy(to, &both, sizeof both);
    return;
  }
#endif
  to[0] = from_float<T>(first);
  to[1] = from_float<T>(second);
}

}  // namespace rueda::kernels
