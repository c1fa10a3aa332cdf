#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "bf16_rounding.hpp"
#include "reference_ops.hpp"

namespace rueda::test {

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
