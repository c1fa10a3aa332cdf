#pragma once

#include <cstddef>
#include <optional>

#include "rueda/backend/precision.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// Collective. What the timed backend waits for, if the configuration asks for it; rank 0 reads the
/// recorded run for all. Throws InputError.
std::optional<TimedCompute> settle_compute(RankGroup& group, const TrainConfig& config,
                                           std::size_t train_images);

}  // namespace rueda
