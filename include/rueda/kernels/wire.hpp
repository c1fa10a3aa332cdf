#pragma once

#include <cstdint>

#include "rueda/core/host_device.hpp"
#include "rueda/kernels/bfloat16.hpp"
#include "rueda/kernels/element_hash.hpp"

namespace rueda::kernels {

/// `value` as it goes over a wire of bf16. `lost` is what rounding took from
/// this element the last time and is added first; afterwards it is what it took
/// this time, exactly. Where that is no number, because the value is none or is
/// rounded to infinity, nothing is kept.
RUEDA_HOST_DEVICE inline Bfloat16 narrow_with_feedback(float value, float& lost) {
  const float whole = value + lost;
  const Bfloat16 narrow = from_float<Bfloat16>(whole);
  const float rest = whole - to_float(narrow);
  lost = rest - rest == 0.0F ? rest : 0.0F;
  return narrow;
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

}  // namespace rueda::kernels
