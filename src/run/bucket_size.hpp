#pragma once

#include <optional>

#include "backend/replica.hpp"
#include "rueda/backend/precision.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"
#include "run/wiring/make_all_reduce.hpp"
#include "train/run_plan.hpp"

namespace rueda {

/// Collective: cuts `sums` into the buckets that hide most of them, the same on all
/// ranks. Measures a backward pass over this rank's share of a full step, and sums of
/// two lengths; the slowest rank counts. Leaves zeros in the gradient arena.
void settle_buckets(RankGroup& group, const TrainConfig& config,
                    const std::optional<TimedCompute>& timed, const RunPlan& plan,
                    const ImageSet& images, Replica& replica, GradientSums& sums);

}  // namespace rueda
