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

// run.json has these figures besides the facts that a run knows. Studies read them,
// too: one list of fields does both (run_fields.hpp). Seconds, bytes; unknown
// numbers are NaN.

/// The object `summary`. "Steady" is of the steady state.
struct RunSummary {
  std::string outcome;
  std::optional<std::string> failure;
  bool diverged = false;  ///< the last epoch's training loss is far above that of guessing
  std::size_t epochs = 0;
  double epoch_seconds = NAN, images_per_second = NAN;
  bool includes_warm_up = false;
  StepBreakdown full_step;
  EfficiencySeconds efficiency;
  AllSteps all_steps;
  double startup_seconds = NAN, training_seconds = NAN, evaluation_seconds = NAN;
  double bookkeeping_seconds = NAN, clock_seconds = NAN;
  double total_seconds = NAN;
  std::optional<double> seconds_to_target;
  Energy energy;
  std::optional<GradientNoise> gradient_noise;  ///< of the last epoch
};

/// Replaces the records of an epoch's steps by the figures and sums that are made of them.
void release_steps(EpochRecord& epoch, const RunRecord& run);
/// The last epoch was released and its rows are written: drops what a run keeps of no epoch but
/// the last. Rows of many ranks go. The sums of steady epochs are added to those of the epoch
/// that follows, so that the last of them has all; others keep theirs as long as a summary may
/// need it.
void drop_rows(std::vector<EpochRecord>& epochs);
RunSummary summary_of(const RunRecord& run);

/// Reads an element of `epochs`. What versions before did not write stays
/// unknown. Throws InputError naming the field at fault.
void read_epoch(const JsonView& j, EpochRecord& epoch);
/// Reads from a run.json, likewise, what another run may take from it. The
/// rest of the facts stays as it is in a run that has not begun.
void read_facts(const JsonView& j, RunRecord& run);

}  // namespace rueda
