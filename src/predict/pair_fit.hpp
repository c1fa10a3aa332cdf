#pragma once

#include <cstddef>
#include <vector>

namespace rueda::predict {

/// A measurement y that is taken to be a * first + b * second.
struct PairRow {
  double a = 0;
  double b = 0;
  double y = 0;
};

/// Two costs from many measurements.
struct PairFit {
  double first = 0;
  double second = 0;
  bool separable = false;  ///< else the rows cannot tell the two apart, and `first` is 0
  std::size_t rows = 0;
  double typical_error = 0;  ///< root of the mean square of (fitted - y) / y
  double worst_error = 0;    ///< the largest |fitted - y| / y
};

/// Least squares of the relative errors (fitted - y) / y, so that small measurements count as much
/// as large ones. Neither cost becomes negative. Rows whose y is not positive are left out; all 0
/// if none are left.
PairFit fit_pair(const std::vector<PairRow>& rows);

}  // namespace rueda::predict
