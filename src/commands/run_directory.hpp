#pragma once

#include <filesystem>
#include <string>

#include "rueda/train/config.hpp"

namespace rueda {

/// Makes the directory that a run writes into, and shows that it can be written. Without --run-dir
/// it is a new one, `runs/<model>-np<ranks>-<number>`. Throws InputError where it cannot be made or
/// written, and where it holds an earlier run and --overwrite was not given.
std::string make_run_directory(const TrainConfig& config, int ranks);

/// Whether a file can be made and written in a directory, found by doing it.
bool can_write_into(const std::filesystem::path& directory);

}  // namespace rueda
