#pragma once

#include "rueda/train/config.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// Whether `epoch` has the accuracy that the run wants. Where a run evaluates, only an evaluation
/// can reach it.
bool reaches_target(const TrainConfig& config, const EpochRecord& epoch);

}  // namespace rueda
