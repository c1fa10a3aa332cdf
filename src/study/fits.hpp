#pragma once

#include <optional>

#include "rueda/study/series.hpp"

namespace rueda {

/// The serial fraction s of Amdahl's law, T(P) / T(1) = s + (1 - s) / P (Amdahl, AFIPS 1967), by
/// least squares over the epoch times of a series; P counts from the series' fewest ranks. The
/// interval is that of the fits to the extremes: all T(P) high with T(1) low, and the other way
/// round. Without oversubscribed points; none if fewer than two are left. A value below 0 is
/// superlinear speedup.
std::optional<Estimate> amdahl_fraction(const Series& series);

/// Serial fraction that one measured speedup S on `ranks` implies: (1/S - 1/P) / (1 - 1/P) (Karp
/// and Flatt, CACM 33(5), 1990). One that grows with P is overhead, not serial work. Unknown for P
/// = 1.
double karp_flatt(double speedup, double ranks) noexcept;

/// Share of a step on P ranks that would not have been faster on more (Gustafson, CACM 31(5),
/// 1988): from the scaled speedup S = P - s (P - 1), s = (P - S) / (P - 1). Unknown for P = 1.
double gustafson_fraction(double scaled_speedup, double ranks) noexcept;

/// Speedup on `ranks` by Amdahl's law.
double amdahl_speedup(double fraction, double ranks) noexcept;

}  // namespace rueda
