#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "reference_ops.hpp"
#include "rueda/backend/precision.hpp"

/// bf16 in double arithmetic, from its definition alone: what the backends' conversions are
/// compared with.
namespace rueda::test {

/// Between two neighbouring bf16 numbers near `value`: 8 binary digits, the first of them at 2^-126
/// or above.
inline double bf16_spacing(double value) {
  return std::ldexp(1.0, std::max(std::ilogb(value), -126) - 7);
}

/// The nearest bf16 number, the even one of two equally near. From halfway between the largest and
/// 2^128 on, infinity.
inline double nearest_bf16(double value) {
  if (!std::isfinite(value)) return value;
  const double unit = bf16_spacing(value);
  const double nearest = std::nearbyint(value / unit) * unit;  // both exact but for the rounding
  if (std::abs(nearest) < 0x1p128) return nearest;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

/// How far `exact` is from the numbers that round to `rounded`: what was off before the rounding.
/// These reach half way to the next bf16 number on the side of `exact`, which below a power of two
/// is nearer than above.
inline double error_before_rounding(double rounded, double exact) {
  const double difference = std::abs(rounded - exact);
  if (std::isnan(difference)) return difference;
  return std::max(0.0, difference - 0.5 * bf16_spacing(std::nextafter(rounded, exact)));
}

/// Values as activations of this precision hold them.
inline Vector as_stored(Vector values, Precision precision) {
  if (precision == Precision::fp32) return values;
  for (double& v : values) v = nearest_bf16(v);
  return values;
}

inline Tensor as_stored(Tensor t, Precision precision) {
  t.values = as_stored(std::move(t.values), precision);
  return t;
}

}  // namespace rueda::test
