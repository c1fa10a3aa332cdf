#pragma once

#include "rueda/train/config.hpp"

namespace rueda {

/// Shows before the training that --save-weights can be written after it. Throws InputError where
/// its directory does not exist or is not writable, and where there is a file already and
/// --overwrite was not given.
void check_weights_target(const TrainConfig& config);

}  // namespace rueda
