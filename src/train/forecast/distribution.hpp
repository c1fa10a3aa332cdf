#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/statistics.hpp"

namespace rueda::cost {

/// How a time varies, as its quantile function: linear between knots. Copies
/// share them, and what was found of them. Not for several threads.
class Distribution {
 public:
  /// The one value.
  explicit Distribution(double value = 0) : Distribution(Knots{{0, value}, {1, value}}) {}
  /// Measured values, linear between neighbours as `quantile` of
  /// base/statistics.hpp. Nothing lies beyond the least and the most of them.
  /// Throws std::invalid_argument without values.
  static Distribution of_sample(std::vector<double> values);
  /// From the least, the median, the 90th percentile and the most of a spread.
  static Distribution of_spread(const Spread& spread);
  /// The value below which the share `u` of the values lies.
  double quantile(double u) const;
  /// The share of the values that lie below `value`, or at it.
  double share_below(double value) const;
  double mean() const { return expected_max(1); }
  /// The mean of the largest of `count` independent values: the integral of the
  /// quantile function to v^count, in closed form between knots.
  double expected_max(double count) const;
  /// The same mean, every distance from it times `factor`.
  Distribution spread_by(double factor) const;

 private:
  struct Knot {
    double u = 0;
    double value = 0;
  };
  using Knots = std::vector<Knot>;
  struct Shared {
    Knots knots;                      ///< u ascending from 0 to 1
    std::map<double, double> maxima;  ///< what expected_max found, by count
  };
  explicit Distribution(Knots knots);
  double integrate_max(double count) const;

  std::shared_ptr<Shared> shared_;
};

}  // namespace rueda::cost
