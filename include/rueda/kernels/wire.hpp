#pragma once

#include "bfloat16.hpp"
#include "rueda/core/host_device.hpp"

namespace rueda::kernels {

/// `value` as it goes over a wire of bf16. `lost` is what rounding took from this element the last
/// time and is added first; afterwards it is what it took this time, exactly. Where that is no
/// number, because the value is none or is rounded to infinity, nothing is kept.
RUEDA_HOST_DEVICE inline Bfloat16 narrow_with_feedback(float value, float& lost) {
  const float whole = value + lost;
  const Bfloat16 narrow = from_float<Bfloat16>(whole);
  const float rest = whole - to_float(narrow);
  lost = rest - rest == 0.0F ? rest : 0.0F;
  return narrow;
}

}  // namespace rueda::kernels
