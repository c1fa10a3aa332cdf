#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace rueda {

/// The distribution of some values. All NaN where `count` is 0.
struct Spread {
  std::size_t count = 0;
  double min = NAN;
  double mean = NAN;
  double median = NAN;  ///< of an even count: the mean of the middle two
  double p90 = NAN;     ///< 90th percentile, linear between the two nearest values
  double max = NAN;
  double deviation = NAN;  ///< standard deviation of the values themselves (divided by their count)
};

double sum_of(const std::vector<double>& values);
Spread spread_of(std::span<const double> values);

/// What `value`, a member or a function, gives for each of `items`.
template <typename Items, typename Value>
auto values_of(const Items& items, Value value) {
  std::vector<std::decay_t<decltype(std::invoke(value, *std::begin(items)))>> values;
  for (const auto& item : items) values.push_back(std::invoke(value, item));
  return values;
}

/// The first of `groups` that `is_same` accepts, or a new one: groups are in
/// the order in which their members were given.
template <typename Group, typename IsSame>
Group& group_of(std::vector<Group>& groups, IsSame is_same) {
  const auto found = std::ranges::find_if(groups, is_same);
  return found == groups.end() ? groups.emplace_back() : *found;
}

/// The values without repetitions, in the order in which each came first.
template <typename Value>
std::vector<Value> each_once(const std::vector<Value>& values) {
  std::vector<Value> once;
  std::set<Value> seen;
  for (const Value& value : values)
    if (seen.insert(value).second) once.push_back(value);
  return once;
}

/// The value below which the share `q` (0 ... 1) of the values lies, linear
/// between neighbours (position q * (count - 1) of the sorted values). NaN
/// where there are none.
double quantile(std::vector<double> values, double q);
double median_of(std::vector<double> values);
/// Of all but the one at `index`; NaN where there is no other.
double median_of_others(std::vector<double> values, std::size_t index);

/// Bandwidth of an all-reduce, as NCCL's tests define it: bytes over seconds, and that times
/// 2(P-1)/P. The second counts what each rank sends, so that it compares with a link's speed.
struct Bandwidth {
  double algbw = 0;  ///< GB/s, GB = 10^9 bytes
  double busbw = 0;  ///< GB/s
};

/// None on one rank, or where no time was measured.
std::optional<Bandwidth> bandwidth(double bytes, double seconds, std::size_t ranks);

}  // namespace rueda
