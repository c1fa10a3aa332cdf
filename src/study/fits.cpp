#include "fits.hpp"

#include <algorithm>
#include <vector>

namespace rueda {
namespace {

/// P as a multiple of the fewest, and T / T(fewest).
struct Sample {
  double ranks;
  double time;
};

/// s minimises the squares of (time - 1/P) - s (1 - 1/P).
double least_squares(const std::vector<Sample>& samples) {
  double above = 0;
  double below = 0;
  for (const Sample& sample : samples) {
    const double x = 1 - 1 / sample.ranks;
    above += x * (sample.time - 1 / sample.ranks);
    below += x * x;
  }
  return above / below;
}

}  // namespace

std::optional<Estimate> amdahl_fraction(const Series& series) {
  const Point& base = series.points.front();
  std::vector<Sample> middle, low, high;
  for (const Point& point : series.points) {
    if (point.oversubscribed || point.ranks == base.ranks || !known(point.epoch)) continue;
    const double ranks = double(point.ranks) / double(base.ranks);
    middle.push_back({ranks, point.epoch.value / base.epoch.value});
    low.push_back({ranks, point.epoch.low / base.epoch.high});
    high.push_back({ranks, point.epoch.high / base.epoch.low});
  }
  if (middle.empty() || base.oversubscribed) return std::nullopt;
  return Estimate{least_squares(middle), least_squares(low), least_squares(high)};
}

double karp_flatt(double speedup, double ranks) noexcept {
  return ranks > 1 ? (1 / speedup - 1 / ranks) / (1 - 1 / ranks) : kUnknown;
}

double gustafson_fraction(double scaled_speedup, double ranks) noexcept {
  return ranks > 1 ? (ranks - scaled_speedup) / (ranks - 1) : kUnknown;
}

double amdahl_speedup(double fraction, double ranks) noexcept {
  return 1 / (fraction + (1 - fraction) / ranks);
}

}  // namespace rueda
