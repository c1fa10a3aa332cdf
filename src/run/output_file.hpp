#pragma once

#include <string>

#include "rueda/train/config.hpp"

namespace rueda {

/// Throws InputError naming `option` for a file that could not be written at the end. An empty
/// `path` is no file.
void check_output_file(const std::string& option, const std::string& path);

/// Checks before the training that --save-weights can be written after it. Throws InputError where
/// its directory does not exist or is not writable, and where there is already a file that may not
/// be replaced: --overwrite was not given, and the resumed run did not write it (`own_file`).
void check_weights_target(const TrainConfig& config, bool own_file);

}  // namespace rueda
