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

/// How far a chain of `terms` fp32 operations may be from the exact result, as a fraction of the
/// sum of the magnitudes of its terms. Roundings behave like independent ones of at most
/// u = 2^-24, so the bound grows with the square root of their number: 6 sqrt(terms) u is exceeded
/// with a probability of about 3e-8 per operation (Higham and Mary, SIAM J. Sci. Comput. 41(5),
/// 2019). It holds for any order of addition, so for any kernel.
inline double fp32_tolerance(double terms) { return 6.0 * std::sqrt(terms) * 0x1p-24; }

/// The largest |actual - expected| in units of what `terms` roundings allow where the magnitudes
/// of the terms sum to `magnitude`. At most 1 is right; a NaN, or any deviation where there is
/// nothing to round, is infinite. Of `actual` stored in bf16 the one rounding of the fp32 result is
/// not counted: what is left has fp32's accuracy.
inline double excess(const Vector& actual, const Vector& expected, const Vector& magnitude,
                     double terms, Precision stored = Precision::fp32) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (actual.size() != expected.size() || actual.size() != magnitude.size()) return infinity;
  double worst = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double difference = stored == Precision::bf16
                                  ? error_before_rounding(actual[i], expected[i])
                                  : std::abs(actual[i] - expected[i]);
    if (difference == 0) continue;
    const double ratio = difference / (fp32_tolerance(terms) * std::abs(magnitude[i]));
    worst = std::isnan(ratio) ? infinity : std::max(worst, ratio);
  }
  return worst;
}

inline Vector magnitudes(Vector values) {
  for (double& v : values) v = std::abs(v);
  return values;
}

inline Tensor magnitudes(Tensor t) {
  t.values = magnitudes(std::move(t.values));
  return t;
}

}  // namespace rueda::test
