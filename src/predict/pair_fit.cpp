#include "pair_fit.hpp"

#include <algorithm>
#include <cmath>

namespace rueda::predict {
namespace {

/// The normal equations of rows that are divided by their y, whose right-hand side is then 1.
struct Sums {
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
};

Sums sums_of(const std::vector<PairRow>& rows) {
  Sums s;
  for (const PairRow& row : rows) {
    const double a = row.a / row.y;
    const double b = row.b / row.y;
    s.aa += a * a;
    s.ab += a * b;
    s.bb += b * b;
    s.a += a;
    s.b += b;
  }
  return s;
}

double only(double sum, double square) { return square > 0 ? sum / square : 0; }

void solve(PairFit& fit, const Sums& s) {
  const double determinant = s.aa * s.bb - s.ab * s.ab;
  fit.separable = determinant > 1e-9 * s.aa * s.bb;
  if (!fit.separable) {
    fit.second = only(s.b, s.bb);
    return;
  }
  fit.first = (s.a * s.bb - s.b * s.ab) / determinant;
  fit.second = (s.b * s.aa - s.a * s.ab) / determinant;
  if (fit.first < 0) {
    fit.first = 0;
    fit.second = only(s.b, s.bb);
  } else if (fit.second < 0) {
    fit.second = 0;
    fit.first = only(s.a, s.aa);
  }
}

}  // namespace

PairFit fit_pair(const std::vector<PairRow>& all) {
  std::vector<PairRow> rows;
  for (const PairRow& row : all) {
    if (row.y > 0 && std::isfinite(row.y)) rows.push_back(row);
  }
  PairFit fit;
  fit.rows = rows.size();
  if (rows.empty()) return fit;
  solve(fit, sums_of(rows));
  double squares = 0;
  for (const PairRow& row : rows) {
    const double error = (row.a * fit.first + row.b * fit.second) / row.y - 1;
    squares += error * error;
    fit.worst_error = std::max(fit.worst_error, std::abs(error));
  }
  fit.typical_error = std::sqrt(squares / static_cast<double>(rows.size()));
  return fit;
}

}  // namespace rueda::predict
