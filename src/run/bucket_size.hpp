#pragma once

#include <optional>

#include "backend/replica.hpp"
#include "rueda/backend/precision.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"
#include "train/run_plan.hpp"

namespace rueda {

/// Collective: the --bucket-mb that is best, the same on all ranks. Measures a
/// backward pass over this rank's share of a full step, and sums of
/// two lengths; the slowest rank counts. Leaves zeros in the gradient arena.
double measure_bucket_mb(RankGroup& group, const TrainConfig& config,
                         const std::optional<TimedCompute>& timed, const RunPlan& plan,
                         const ImageSet& images, Replica& replica, AllReduce& all_reduce);

}  // namespace rueda
