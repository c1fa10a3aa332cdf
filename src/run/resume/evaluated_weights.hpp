#pragma once

#include <string>

#include "rueda/train/config.hpp"

namespace rueda {

/// The file of the weights that `rueda evaluate --init-weights` means. Where
/// that is a checkpoint or a run directory, completes `config` by the options of
/// its run, and `resume` names it in place of `init_weights`. Reads the disk.
/// Throws InputError.
std::string find_weights(TrainConfig& config);

/// Those of the latest checkpoint of the run that `resume` names, which may have removed the
/// earlier ones.
std::string later_weights(const TrainConfig& config);

}  // namespace rueda
