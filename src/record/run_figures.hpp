#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json/json_view.hpp"
#include "record/aggregation.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

// What run.json says besides what a run knows: figures that are made of the
// steps when it is written, and read from it by studies. One list of fields
// does both (run_fields.hpp). Seconds, bytes; unknown numbers are NaN.

/// One bucket of gradients, over steps and ranks.
struct BucketFigures {
  double bytes = NAN;
  Spread queued;  ///< from the moment it was complete until its all-reduce began
  Spread busy;    ///< in the all-reduce
  Spread wait;    ///< of this, for later ranks
  Spread transfer, add;
};

/// Steps of one kind. `steps` is 0 if there was none.
struct MeanStep : StepBreakdown {
  MeanStep() = default;
  explicit MeanStep(const StepBreakdown& mean) : StepBreakdown(mean) {}
};

/// Steps of both kinds together, and what they summed.
struct AllSteps : StepBreakdown {
  double bytes = NAN;               ///< summed in a step
  double algbw = NAN, busbw = NAN;  ///< GB/s, of the slowest rank's busy time
  std::vector<BucketFigures> buckets;

  AllSteps() = default;
  explicit AllSteps(const StepBreakdown& mean) : StepBreakdown(mean) {}
};

/// Sums over the steps of one rank in one epoch. Its phases add up to `seconds`.
struct RankFigures : RankSums {
  std::size_t rank = 0;
  double core_share = NAN;  ///< of the time of its cores that it got
  Spread full_step;         ///< seconds of its full steps
  Spread full_compute;      ///< the same without what it waited for the all-reduce
};

/// One element of `epochs`.
struct EpochFigures : EpochFacts {
  std::array<Spread, kPhases> phases;  ///< sums over all its steps, over ranks
  MeanStep full_step, partial_step;
  AllSteps all_steps;
  std::vector<RankFigures> of_ranks;
};

/// The object `summary`. "Steady" is of the steady state.
struct RunSummary {
  std::string outcome;
  std::optional<std::string> failure;
  bool diverged = false;  ///< the last epoch's training loss is far above that of guessing
  std::size_t epochs = 0;
  double epoch_seconds = NAN, images_per_second = NAN;
  bool includes_warm_up = false;
  MeanStep full_step;
  EfficiencySeconds efficiency;
  AllSteps all_steps;
  double startup_seconds = NAN, training_seconds = NAN, evaluation_seconds = NAN;
  double total_seconds = NAN;
  std::optional<double> seconds_to_target;
  Energy energy;
};

/// Of an epoch whose records of steps are there.
EpochFigures epoch_figures(const EpochRecord& epoch, const RunRecord& run);
RunSummary summary_of(const RunRecord& run);

/// Reads an element of `epochs`. What versions before did not write stays
/// unknown. Throws InputError naming the field at fault.
EpochFigures read_epoch(const JsonView& epoch);
/// Reads the object `summary`, likewise.
RunSummary read_summary(const JsonView& summary);
/// Reads from a run.json, likewise, what studies and forecasts use of a run. The
/// rest of the facts stays as it is in a run that has not begun.
RunFacts read_facts(const JsonView& run);

}  // namespace rueda
