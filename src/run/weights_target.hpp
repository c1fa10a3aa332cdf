#pragma once

#include "rueda/train/config.hpp"

namespace rueda {

/// Shows before the training that --save-weights can be written after it. Throws InputError where
/// its directory does not exist or is not writable, and where there is a file already which may not
/// be replaced: --overwrite was not given, and it is none of the run that goes on (`own_file`).
void check_weights_target(const TrainConfig& config, bool own_file);

}  // namespace rueda
