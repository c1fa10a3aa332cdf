#pragma once

#include <utility>
#include <vector>

#include "rueda/record/statistics.hpp"

namespace rueda::predict {

/// How a time varies, as its quantile function: linear between knots.
class Distribution {
 public:
  /// The one value.
  explicit Distribution(double value = 0) : knots_{{0, value}, {1, value}} {}
  /// Measured values, linear between neighbours as `quantile` of report/statistics.hpp. Nothing
  /// lies beyond the least and the most of them. Throws std::invalid_argument without values.
  static Distribution of_sample(std::vector<double> values);
  /// What a spread tells of its values: least, median, 90th percentile, most.
  static Distribution of_spread(const Spread& spread);
  /// The value below which the share `u` of the values lies.
  double quantile(double u) const;
  double mean() const { return expected_max(1); }
  /// The mean of the largest of `count` independent values: the integral of the quantile function
  /// to v^count, in closed form between knots.
  double expected_max(double count) const;
  /// The same mean, every distance from it times `factor`.
  Distribution spread_by(double factor) const;

 private:
  struct Knot {
    double u = 0;
    double value = 0;
  };
  explicit Distribution(std::vector<Knot> knots) : knots_(std::move(knots)) {}

  std::vector<Knot> knots_;  ///< u ascending from 0 to 1
};

}  // namespace rueda::predict
