#include "estimate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rueda {

Estimate exactly(double value) noexcept { return {value, value, value}; }

Estimate rounded(double value, double half) noexcept { return {value, value - half, value + half}; }

Estimate over_repeats(std::span<const double> values) {
  const Spread spread = spread_of(values);
  return {spread.median, spread.min, spread.max};
}

Estimate over_repeats(std::span<const Estimate> estimates) {
  std::vector<double> values, lows, highs;
  for (const Estimate& estimate : estimates) {
    if (!known(estimate)) continue;
    values.push_back(estimate.value);
    lows.push_back(estimate.low);
    highs.push_back(estimate.high);
  }
  if (values.empty()) return {};
  return {median_of(values), std::ranges::min(lows), std::ranges::max(highs)};
}

bool known(const Estimate& estimate) noexcept { return std::isfinite(estimate.value); }

bool is_exact(const Estimate& estimate) noexcept { return estimate.low == estimate.high; }

Estimate operator/(const Estimate& a, const Estimate& b) noexcept {
  return {a.value / b.value, a.low / b.high, a.high / b.low};
}

Estimate operator*(const Estimate& a, double factor) noexcept {
  return {a.value * factor, a.low * factor, a.high * factor};
}

Estimate per(double numerator, const Estimate& a) noexcept {
  return {numerator / a.value, numerator / a.high, numerator / a.low};
}

}  // namespace rueda
