#include <cmath>
#include <string>

#include "study/sentence.hpp"

namespace rueda {
namespace {

constexpr double kSameFraction = 0.005;

/// Of a serial fraction, which noise may move out of its range.
std::string fraction_text(double share) {
  if (share < 0) return "below 0 %";
  if (share > 1) return "above 100 %";
  return percent(share);
}

/// A limit of the speedup. Two decimals as of a measured speedup, so that rounding cannot put it
/// on the other side of one.
std::string limit_text(double limit) { return fmt::format("{:.2f}", limit); }

/// Bounds are rounded outwards: what is shown still holds.
std::string at_least(double bound) {
  return "at least " + limit_text(std::floor(bound * 100) / 100);
}
std::string at_most(double bound) { return "at most " + limit_text(std::ceil(bound * 100) / 100); }

std::string amdahl_text(const Series& series, const Estimate& s) {
  if (s.low <= 0 && s.high >= 1)
    return "Amdahl's serial fraction is not determined: repeats leave anything from 0 to 100 %";
  if (s.value <= 0) return "Amdahl's fit finds nothing serial: the speedup is ideal or better";
  if (s.value >= 1) return "Amdahl's law does not fit: epochs are not shorter on more ranks";
  const Estimate limit = amdahl_limit(series, s);
  const double most = most_speedup(series);
  if (most > limit.value) {
    return fmt::format(
        "Amdahl's law does not fit: its limit for the speedup would be {}, and {:.2f} was "
        "measured",
        limit_text(limit.value), most);
  }
  std::string text = "Amdahl's fit has a serial fraction of " + percent(s.value);
  if (is_exact(s)) return text + ", a limit of " + limit_text(limit.value) + " for the speedup";
  text += " (" + fraction_text(s.low) + " to " + fraction_text(s.high) + ")";
  const std::string open = ": the limit of the speedup is not determined, but ";
  if (s.low <= 0) return text + open + at_least(limit.low);
  if (s.high >= 1) return text + open + at_most(limit.high);
  return text + fmt::format(", a limit of {} ({} to {}) for the speedup", limit_text(limit.value),
                            limit_text(limit.low), limit_text(limit.high));
}

/// As karp_flatt, with what the repeats leave.
Estimate flatt_of(const PointFigures& f) {
  const auto base = double(f.series->points.front().ranks);
  const Estimate speedup = f.epoch_view.speedup * (1 / base);
  const double ranks = double(f.ranks()) / base;
  return {karp_flatt(speedup.value, ranks), karp_flatt(speedup.high, ranks),
          karp_flatt(speedup.low, ranks)};
}

bool falls(const Estimate& a, const Estimate& b) { return b.value < a.value - kSameFraction; }
bool rises(const Estimate& a, const Estimate& b) { return falls(b, a); }

/// What several fractions, P ascending, say; by all of them, not by the two ends.
std::string trend_text(const std::vector<Estimate>& flatt) {
  const Estimate &first = flatt.front(), &last = flatt.back();
  const bool any_fall = std::ranges::adjacent_find(flatt, falls) != flatt.end();
  const bool any_rise = std::ranges::adjacent_find(flatt, rises) != flatt.end();
  if (any_fall && any_rise) return "it rises and falls with P, so nothing follows from it";
  const bool grows = last.value > 1.2 * first.value && rises(first, last);
  if (!grows) return "no overhead that grows with P";
  if (last.low <= first.high) return "repeats do not tell whether it grows with P";
  return "the loss is overhead that grows with P";
}

}  // namespace

Sentence how_serial_it_is(const SeriesFigures& series) {
  const auto fit = amdahl_fraction(*series.series);
  if (!fit) return {};
  const std::string text = amdahl_text(*series.series, *fit);
  std::vector<Estimate> flatt;
  for (const PointFigures& f : series.points) {
    if (!f.point->oversubscribed && std::isfinite(f.karp_flatt)) flatt.push_back(flatt_of(f));
  }
  if (flatt.size() < 2) return text + " (from two points only).";
  Texts all;
  for (const Estimate& one : flatt) all.push_back(fraction_text(one.value));
  std::string through;
  if (all.size() > 2) through = " over " + listed({all.begin() + 1, all.end() - 1});
  return text + fmt::format("; by Karp and Flatt it goes from {}{} to {}: {}.", all.front(),
                            through, all.back(), trend_text(flatt));
}

}  // namespace rueda
