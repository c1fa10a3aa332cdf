#include "study/tables/point_table.hpp"

namespace rueda {
namespace {

/// Of Amdahl's law with this serial fraction; the fewest ranks P0 count as P0. Unknown where a
/// fraction below 0 leaves no time.
double amdahl_speedup(const PointFigures& f, double serial_fraction) {
  const auto fewest = double(f.series->points.front().ranks);
  const double time = serial_fraction + (1 - serial_fraction) * fewest / double(f.ranks());
  if (!(time > 0)) return kUnknown;
  return fewest / time;
}

Fields serial_row(const PointFigures& f) {
  if (f.of_fewest_ranks()) return {};
  const Estimate fit = amdahl_fraction(*f.series).value_or(Estimate{});
  double limit = amdahl_limit(*f.series, fit).value;
  const bool determined = fit.low > 0 && fit.high < 1 && most_speedup(*f.series) <= limit;
  if (!determined) limit = kUnknown;
  return {{"speedup", "speedup", Show::ratio, f.epoch_view.speedup.value},
          {"amdahl", "Amdahl fit, %", Show::percent, fit.value},
          {"amdahl_range", "from, to", Show::text, range_cell(fit, Show::percent)},
          {"amdahl_speedup", "by that fit", Show::ratio, amdahl_speedup(f, fit.value)},
          {"amdahl_limit", "speedup limit", Show::ratio, limit},
          {"karp_flatt", "Karp-Flatt, %", Show::percent, f.karp_flatt},
          {"scaled_speedup", "scaled speedup", Show::ratio, f.step_view.speedup.value},
          {"gustafson", "Gustafson, %", Show::percent, f.gustafson}};
}

}  // namespace

Table serial_table(const StudyFigures& all) {
  return point_table(
      "serial_fraction", "Serial fraction", all, serial_row,
      {"Amdahl: s of T(P)/T(1) = s + (1 - s)/P, least squares over all P of the series that had a "
       "core for each thread, P counted from the fewest ranks P0; its limit is P0/s. A dash: the "
       "law does not fit, or the runs leave no limit. *From, to*: the fits to the extremes of the "
       "runs. *By that fit*: the speedup on P ranks by that s.",
       "Karp-Flatt: the s that one P alone implies, (1/S - 1/P) / (1 - 1/P), from the epoch view. "
       "If it grows with P, the loss is overhead that grows with P, and not serial work.",
       "Gustafson: the s of the scaled speedup S = P - s (P - 1), from the step view, which is "
       "that column."});
}

}  // namespace rueda
