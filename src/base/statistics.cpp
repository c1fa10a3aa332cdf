#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace rueda {
namespace {

double quantile_of_sorted(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return NAN;
  const double position = q * double(sorted.size() - 1);
  const auto below = std::size_t(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - double(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

}  // namespace

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return quantile_of_sorted(values, q);
}

double median_of(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double median_of_others(std::vector<double> values, std::size_t index) {
  values.erase(values.begin() + std::ptrdiff_t(index));
  return median_of(std::move(values));
}

Spread spread_of(std::span<const double> values) {
  if (values.empty()) return {0, NAN, NAN, NAN, NAN, NAN, NAN};
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const auto n = double(sorted.size());
  const double mean = sum_of(sorted) / n;
  double squares = 0;
  for (const double v : sorted) squares += (v - mean) * (v - mean);
  return {.count = sorted.size(),
          .min = sorted.front(),
          .mean = mean,
          .median = quantile_of_sorted(sorted, 0.5),
          .p90 = quantile_of_sorted(sorted, 0.9),
          .max = sorted.back(),
          .deviation = std::sqrt(squares / n)};
}

std::optional<Bandwidth> bandwidth(double bytes, double seconds, std::size_t ranks) {
  if (ranks < 2 || !(seconds > 0)) return std::nullopt;
  const auto p = double(ranks);
  const double algbw = bytes / seconds / 1e9;
  return Bandwidth{algbw, algbw * 2 * (p - 1) / p};
}

}  // namespace rueda
