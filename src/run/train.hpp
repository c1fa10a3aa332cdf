#pragma once

#include <string>

#include "base/error.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// Trains on all ranks of the run and writes run.json; returns the exit code.
/// `command_line` is what the user typed, for the record. Throws
/// AlreadyReported for an error that all ranks agreed on and one of them has
/// printed.
int run_train(const TrainConfig& config, std::string command_line);

/// Collective with the run_train of other ranks: this rank's command line is
/// faulty, theirs may not be. The lowest such rank's error is printed, and all
/// ranks throw AlreadyReported.
void refuse_train(const Error& error);

}  // namespace rueda
