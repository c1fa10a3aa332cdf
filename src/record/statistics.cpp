#include "rueda/record/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace rueda {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double quantile_of_sorted(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return kNan;
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return quantile_of_sorted(values, q);
}

double median_of(std::vector<double> values) { return quantile(std::move(values), 0.5); }

Spread spread_of(std::span<const double> values) {
  if (values.empty()) return {0, kNan, kNan, kNan, kNan, kNan, kNan};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / n;
  double squares = 0;
  for (const double v : sorted) squares += (v - mean) * (v - mean);
  return {sorted.size(),
          sorted.front(),
          mean,
          quantile_of_sorted(sorted, 0.5),
          quantile_of_sorted(sorted, 0.9),
          sorted.back(),
          std::sqrt(squares / n)};
}

std::optional<Bandwidth> bandwidth(double bytes, double seconds, std::size_t ranks) {
  if (ranks < 2 || !(seconds > 0)) return std::nullopt;
  const auto p = static_cast<double>(ranks);
  const double algbw = bytes / seconds / 1e9;
  return Bandwidth{algbw, algbw * 2 * (p - 1) / p};
}

}  // namespace rueda
