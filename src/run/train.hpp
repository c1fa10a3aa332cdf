#pragma once

#include <string>

#include "rueda/train/config.hpp"

namespace rueda {

/// Trains on all ranks of the job and writes run.json; returns the exit code.
/// `command_line` is what the user typed, for the record. Throws
/// AlreadyReported for an error that all ranks agreed on and one of them has
/// printed.
int run_train(const TrainConfig& asked, const std::string& command_line);

}  // namespace rueda
