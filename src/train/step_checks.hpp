#pragma once

#include <cstddef>
#include <string>

#include "rueda/backend/replica.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// Injects the fault of `--inject` if `rank` and `step` (global, from 1) are those of the fault:
/// flips one bit of the middle parameter, makes the first weight of the classifier NaN, or sends
/// this process a signal. Called at the start of a step.
void inject_fault(const InjectedFault& fault, std::size_t rank, std::size_t step, Replica& replica);

/// Collective: throws RunError on every rank where `finite` is false on any. The message says
/// `what` and names these ranks.
void stop_unless_finite(RankGroup& group, bool finite, const std::string& what);

/// Whether `epoch` has the accuracy that the run wants. Where a run evaluates, only an evaluation
/// can reach it.
bool reaches_target(const TrainConfig& config, const EpochRecord& epoch);

}  // namespace rueda
