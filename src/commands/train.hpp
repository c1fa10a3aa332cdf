#pragma once

#include <string>

#include "rueda/train/config.hpp"

namespace rueda {

/// Trains on all ranks of the run and writes run.json; returns the exit code. `command_line` is
/// what the user typed, for the record. Throws InputError or RunError; an error that leaves this
/// function is the same on every rank, so that main() may report it on one.
int run_train(const TrainConfig& config, std::string command_line);

}  // namespace rueda
