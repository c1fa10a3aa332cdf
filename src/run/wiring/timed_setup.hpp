#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "rueda/backend/precision.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// Collective. What the timed backend waits for, if the configuration asks for
/// it; rank 0 reads the recorded run for all. Throws InputError.
std::optional<TimedCompute> choose_compute(RankGroup& group, const TrainConfig& config,
                                           std::size_t train_images);

/// Seconds that forward, loss and backward of one image took in a recorded run
/// of `model` at `image_size`: the median over the full steps of all ranks,
/// without those of the first epoch if there are others. `file` is its
/// run.json, its steps.csv lies next to it. Throws InputError.
double recorded_image_seconds(const std::string& file, const std::string& model, int image_size);

}  // namespace rueda
