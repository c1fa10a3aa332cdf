#pragma once

#include <string>

#include "rueda/train/config.hpp"

namespace rueda {

/// Who makes the batches of a run, in a few words that begin with the mode.
std::string input_mode_text(const TrainConfig& config);

}  // namespace rueda
