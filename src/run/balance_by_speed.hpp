#pragma once

#include <cstddef>
#include <vector>

#include "backend/replica.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "train/run_plan.hpp"

namespace rueda {

/// Collective: images of each rank in a full step with which all finish together,
/// by a measurement of about a second in which all compute at the same time; those
/// of `plan` where others would gain little. `side` of the images in pixels.
/// Leaves zeros in the gradient arena.
std::vector<std::size_t> measure_shares(RankGroup& group, const RunPlan& plan, const ImageSet& set,
                                        int side, Replica& replica);

}  // namespace rueda
