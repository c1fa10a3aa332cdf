#pragma once

#include <string>

#include "mpi/session/session.hpp"
#include "rueda/core/error.hpp"
#include "rueda/train/config.hpp"
#include "train_setup.hpp"
#include "wiring/device_choice.hpp"

namespace rueda {

/// One training run of one rank, from the first message to the last table. Collective. `clock` was
/// started with the program. Throws Error, alike on all ranks wherever one rank alone may fail.
ExitCode execute_training(const TrainConfig& config, std::string command_line,
                          const SelectedDevice& device, ThreadLevel threads, StartupClock& clock);

}  // namespace rueda
