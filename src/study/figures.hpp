#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "record/definitions.hpp"
#include "study/observation.hpp"

namespace rueda {

/// What stays the same while P grows.
enum class Scaling {
  weak,    ///< images per rank and step; an epoch has fewer steps
  strong,  ///< the global batch; every step has less for each rank
  single   ///< only one P was run
};

constexpr auto words_of(Scaling) { return std::array{"weak", "strong", "single"}; }

/// All repeats of one configuration.
using Point = Observation;

/// One model on one kind of machine, P ascending: a line in a plot.
struct Series : Subject {
  std::string id;     ///< for programs: unique in a report
  std::string label;  ///< for people: "resnet18, 128 per rank"
  Scaling scaling = Scaling::single;
  std::size_t batch = 0;  ///< per rank (weak) or global (strong, single)
  std::vector<Point> points;
};

/// Sorts observations into series. A run belongs to the weak series of its rank
/// batch and to the strong one of its global batch, so a P = 1 run may serve
/// both; a series needs two values of P, and runs that then belong to none form
/// series of one point. A series has one subject and one number of images.
std::vector<Series> make_series(const Observations& observations);

/// What P ranks gained over the fewest that were run, P0 (1 where there is such
/// a run), which count as P0. Efficiency is S / P. Unknown in a series of one P, which has no base.
struct Speedup {
  Estimate speedup;
  Estimate efficiency;
};
/// S = P0 T(P0) / T(P) from epoch times T, as measured or as printed.
Speedup epoch_speedup(const Series& series, const Point& point,
                      Estimate Point::*time = &Point::epoch);
/// S = P0 (B(P) / t(P)) / (B(P0) / t(P0)) from full steps t and global batches B.
Speedup step_speedup(const Series& series, const Point& point);

/// The serial fraction s of Amdahl's law, T(P) / T(1) = s + (1 - s) / P
/// (Amdahl, AFIPS 1967), by least squares over the epoch times of a series; P
/// counts from the series' fewest ranks. The interval is that of the fits to
/// the extremes: all T(P) high with T(1) low, and the other way round. Without
/// oversubscribed points; none if fewer than two are left. A value below 0 is
/// superlinear speedup.
std::optional<Estimate> amdahl_fraction(const Series& series);

/// The speedup that Amdahl's law leaves for any P: P0 / s, because P0 ranks count as P0.
Estimate amdahl_limit(const Series& series, const Estimate& fraction);
/// The largest that was measured, of the points of amdahl_fraction. One above amdahl_limit says
/// that the law does not fit.
double most_speedup(const Series& series);

/// Serial fraction that one measured speedup S on `ranks` implies: (1/S - 1/P)
/// / (1 - 1/P) (Karp and Flatt, CACM 33(5), 1990). One that grows with P is
/// overhead, not serial work. Unknown for P = 1.
double karp_flatt(double speedup, double ranks) noexcept;

/// Share of a step on P ranks that would not have been faster on more (Gustafson, CACM 31(5),
/// 1988): from the scaled speedup S = P - s (P - 1), s = (P - S) / (P - 1). Unknown for P = 1.
double gustafson_fraction(double scaled_speedup, double ranks) noexcept;

/// Communication of the steady epoch of median time; seconds. `bytes` are those of a step, rates
/// those of all steady epochs.
struct CommunicationFigures {
  double bytes = kUnknown;
  double busy = kUnknown;                                       ///< inside the all-reduce
  double exposed = kUnknown;                                    ///< what steps waited for it
  double wait = kUnknown, transfer = kUnknown, add = kUnknown;  ///< parts of `busy`
  double algbw = kUnknown, busbw = kUnknown;  ///< GB/s, of the slowest rank's busy time
  double inferred = kUnknown;                 ///< T(P) - T(P0) P0 / P
  /// The same against P = 1 at this rank batch instead of this global batch,
  /// where that was run: small batches are slower, which is no communication.
  double inferred_same_batch = kUnknown;
  double link_busbw = kUnknown;  ///< GB/s, of the time in transfer alone
};

/// How even the ranks were: seconds of a full step without waiting for the all-reduce.
struct StragglerFigures {
  Spread compute;           ///< of the ranks' medians
  std::size_t slowest = 0;  ///< rank
  std::string slowest_host;
};

/// Time lost compared with ideal scaling, T(P) - T(P0) P0 / P, and what of it
/// each phase explains: the phase's seconds per epoch less its share of the
/// fewest ranks' ones. The rest lies between steps or in the ranks' unevenness.
struct Losses {
  double lost = kUnknown;  ///< seconds per epoch
  PhaseSeconds phases{};
  double waiting = kUnknown;  ///< of the phase all_reduce: for ranks that were later
  double rest = kUnknown;
  // How far the repeats of both points differ in the same figures, added up; 0 for single runs.
  double lost_spread = 0, rest_spread = 0;
  PhaseSeconds phase_spreads{};

  /// Whether it is more than repeats differ by, so that a cause can be looked for.
  bool determined() const noexcept { return lost > lost_spread; }
};

/// Of the median epoch (median_epoch). NaN: not known.
using EfficiencyFactors = std::array<double, kFactors.size()>;

/// Everything that is derived of a point, from the repeat that stands for all (merged), so that
/// times and their parts add up; ranges are over all repeats.
struct PointFigures {
  const Series* series = nullptr;
  const Point* point = nullptr;
  Estimate images_per_second;
  Speedup epoch_view, step_view;
  double karp_flatt = kUnknown;    ///< serial fraction from the epoch view
  double gustafson = kUnknown;     ///< serial fraction from the step view
  const RunResult* run = nullptr;  ///< that repeat; null for what rueda did not run
  PhaseSeconds step_phases{};      ///< seconds of a mean full step
  PhaseSeconds epoch_phases{};     ///< seconds of a steady epoch, mean over ranks
  EfficiencyFactors factors{};
  /// Of kFactors, the least of the four in the middle; none where repeats do not agree on it.
  std::optional<std::size_t> costliest;
  CommunicationFigures communication;
  StragglerFigures stragglers;
  Energy energy;                     ///< of an epoch
  double device_seconds = kUnknown;  ///< P x epoch time
  /// None for the first point, oversubscribed ones and those that rueda did not run.
  std::optional<Losses> losses;

  std::size_t ranks() const noexcept { return point->ranks; }
  bool of_fewest_ranks() const noexcept { return ranks() == series->points.front().ranks; }
};

struct SeriesFigures {
  const Series* series = nullptr;
  std::vector<PointFigures> points;
};
using StudyFigures = std::vector<SeriesFigures>;

/// `all` has to outlive the result.
StudyFigures evaluate(const std::vector<Series>& all);

/// The parts of a mean steady epoch other than full steps of median length;
/// seconds.
struct EpochParts {
  double slow_steps = kUnknown;  ///< what full steps took beyond the median of all
  double partial = kUnknown;     ///< everything but full steps
  std::size_t partial_images = 0;
  double partial_by_images = kUnknown;  ///< of a full step, their share of the images
};
EpochParts epoch_parts(const PointFigures& figures);

/// How far the repeats of a point differ in a figure of a run: most less least; 0 for less than
/// two.
template <typename Of>
double repeats_differ_by(const Point& point, Of of) {
  if (point.runs.size() < 2) return 0;
  const auto values = values_of(point.runs, [&of](const RunResult* run) { return of(*run); });
  return std::ranges::max(values) - std::ranges::min(values);
}

}  // namespace rueda
