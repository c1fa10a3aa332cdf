#pragma once

#include <filesystem>

#include "rueda/checkpoint/manifest.hpp"

namespace rueda {

/// Length and CRC-32 (of gzip and PNG) of a regular file. `fresh`: from the disk, as far as the
/// system can be asked not to answer from memory. Throws InputError where it can not be read.
CheckpointFile sum_file(const std::filesystem::path& directory, const std::string& name,
                        bool fresh = false);

}  // namespace rueda
