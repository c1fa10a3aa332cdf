#pragma once

#include <span>

#include "rueda/study/run_result.hpp"

namespace rueda {

/// A value and how far it may be off: the range over repeats, or what rounding leaves. low <= value
/// <= high; all NaN if unknown.
struct Estimate {
  double value = kUnknown;
  double low = kUnknown;
  double high = kUnknown;
};

/// Nothing is said about its spread: low = value = high.
Estimate exactly(double value) noexcept;
/// What lies within `half` of `value`, as a number printed in steps of 2 `half` does.
Estimate rounded(double value, double half) noexcept;
/// Median, least and most.
Estimate over_repeats(std::span<const double> values);
/// Median, least low and greatest high of those that are known.
Estimate over_repeats(std::span<const Estimate> estimates);

bool known(const Estimate& estimate) noexcept;
bool is_exact(const Estimate& estimate) noexcept;  ///< low == high

/// Extremes of quotient and product of positive values that are independent of each other.
Estimate operator/(const Estimate& a, const Estimate& b) noexcept;
Estimate operator*(const Estimate& a, double factor) noexcept;
/// `numerator` / a: for rates.
Estimate per(double numerator, const Estimate& a) noexcept;

}  // namespace rueda
