#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rueda/kernels/wire.hpp"

namespace rueda {

// What a device does for a wire of bf16 and for messages that are checked, on elements begin ...
// end-1, by the calling thread alone.

inline void narrow_part(std::span<kernels::Bfloat16> to, std::span<const float> from,
                        std::span<float> lost, std::size_t begin, std::size_t end) {
  if (lost.empty()) {
    for (std::size_t i = begin; i < end; ++i)
      to[i] = kernels::from_float<kernels::Bfloat16>(from[i]);
  } else {
    for (std::size_t i = begin; i < end; ++i) {
      to[i] = kernels::narrow_with_feedback(from[i], lost[i]);
    }
  }
}

inline void add_narrow_part(std::span<float> into, std::span<const kernels::Bfloat16> from,
                            std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) into[i] = into[i] + kernels::to_float(from[i]);
}

inline void widen_part(std::span<float> to, std::span<const kernels::Bfloat16> from,
                       std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) to[i] = kernels::to_float(from[i]);
}

inline std::uint64_t check_part(std::span<const float> values, std::size_t begin, std::size_t end) {
  std::uint64_t sum = 0;
  const float* v = values.data();
  for (std::size_t i = begin; i < end; ++i) sum += kernels::message_check(i, v[i]);
  return sum;
}

}  // namespace rueda
