#pragma once

#include <CLI/CLI.hpp>

#include "rueda/train/config.hpp"

namespace rueda {

/// Gives the options of `rueda train` that are still open the values that the run of the checkpoint
/// had which `config.resume` means: resuming needs no more words than its directory. To be called
/// when the command line and the recipe have been read. Throws InputError where there is no
/// checkpoint (but for `auto`) and for one whose options this program refuses; one that can not be
/// read is left to find_resume_point.
void apply_resumed_options(CLI::App& command, const TrainConfig& config);

}  // namespace rueda
