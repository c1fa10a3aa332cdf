#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fits.hpp"
#include "rueda/study/series.hpp"

namespace rueda {

/// Communication of a mean steady epoch; seconds, of one repeat (see PointFigures).
struct CommunicationFigures {
  double inferred = kUnknown;  ///< T(P) - T(P0) P0 / P
  /// The same against P = 1 at this rank batch instead of this global batch, where that was run:
  /// what small batches cost is no communication.
  double inferred_same_batch = kUnknown;
  double measured = kUnknown;  ///< inside the all-reduce, mean over ranks
  double exposed = kUnknown;   ///< what steps waited for it
  double wait = kUnknown, transfer = kUnknown, add = kUnknown;  ///< parts of `measured`
  double bytes_per_step = kUnknown;
  double algbw = kUnknown, busbw = kUnknown;  ///< GB/s, of the slowest rank's busy time
  double link_busbw = kUnknown;               ///< GB/s, of the time in transfer alone
};

/// How even the ranks were: seconds of a full step without waiting for the all-reduce.
struct StragglerFigures {
  OverRanks compute;        ///< of the ranks' medians
  std::size_t slowest = 0;  ///< rank
  std::string slowest_host;
  double median_step = kUnknown, p90_step = kUnknown;  ///< slowest rank's time of a step
};

/// Everything that is derived of a point. Times and speedups are medians over repeats; parts of an
/// epoch or a step are those of the repeat whose epochs are nearest to the median, so that they add
/// up.
struct PointFigures {
  const Point* point = nullptr;
  Estimate images_per_second;
  Speedup epoch_view, step_view;
  double karp_flatt = kUnknown;                ///< serial fraction from the epoch view
  double gustafson = kUnknown;                 ///< serial fraction from the step view
  bool has_run = false;                        ///< the rest is known only of rueda's own runs
  std::array<double, kPhases> step_phases{};   ///< seconds of a mean full step
  std::array<double, kPhases> epoch_phases{};  ///< seconds of a steady epoch, mean over ranks
  CommunicationFigures communication;
  StragglerFigures stragglers;
  double joules = kUnknown;          ///< of an epoch, all GPUs
  double device_seconds = kUnknown;  ///< P x epoch time
  double startup_seconds = kUnknown;
  std::vector<std::pair<std::string, double>> startup;  ///< item to seconds of its slowest rank
};

struct SeriesFigures {
  const Series* series = nullptr;
  std::vector<PointFigures> points;
  std::optional<Estimate> serial_fraction;  ///< Amdahl
};

/// `all` has to outlive the result.
std::vector<SeriesFigures> evaluate(const std::vector<Series>& all);

/// Time lost beside ideal scaling, T(P) - T(P0) P0 / P, and what of it each phase explains: the
/// phase's seconds per epoch less its share of the fewest ranks' ones. What is left over lies
/// between steps or in the ranks' unevenness.
struct Losses {
  double lost = kUnknown;  ///< seconds per epoch
  std::array<double, kPhases> phases{};
  double waiting = kUnknown;  ///< of the phase all_reduce: for ranks that were later
  double rest = kUnknown;
};

/// What a mean steady epoch consists of beside full steps of median length; seconds, of the repeat
/// whose epochs are nearest to the point's.
struct EpochParts {
  double slow_steps = kUnknown;  ///< what full steps took beyond the median of all
  double partial = kUnknown;     ///< everything but full steps
  std::size_t partial_images = 0;
  double partial_by_images = kUnknown;  ///< of a full step, their share of the images
};
EpochParts epoch_parts(const Point& point);

/// None for the first point, oversubscribed ones and those that rueda did not run.
std::optional<Losses> losses(const SeriesFigures& series, const PointFigures& point);

}  // namespace rueda
