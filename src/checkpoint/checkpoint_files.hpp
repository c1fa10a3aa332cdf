#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "rueda/checkpoint/manifest.hpp"
#include "rueda/core/files.hpp"

namespace rueda {

// Parts of the names in a directory of checkpoints.
inline constexpr std::string_view kEpochWord = "epoch-";
inline constexpr std::string_view kStepWord = "-step-";
/// Begins the names of what is not finished, or about to go.
inline constexpr std::string_view kTemporaryWord = ".unfinished-";

// Names in a checkpoint.
inline constexpr const char* kWeightsName = "weights.safetensors";
inline constexpr const char* kMomentumName = "momentum.safetensors";
inline constexpr const char* kCarriedName = "carried.safetensors";
inline constexpr const char* kHistoryName = "history.json";

/// All files of a checkpoint are read, which takes time.
inline constexpr std::size_t kMostFileBytes = std::size_t{1} << 36U;

/// A checkpoint or one of its files, and what to do where it is refused.
InputFile checkpoint_file(const std::filesystem::path& path);

/// CRC-32 as of gzip and PNG; `before`: of the bytes in front of these.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

/// Length and CRC-32 (of gzip and PNG) of a regular file. `fresh`: from the disk, as far as the
/// system can be asked not to answer from memory. Throws InputError where it cannot be read.
CheckpointFile sum_file(const std::filesystem::path& directory, const std::string& name,
                        bool fresh = false);

}  // namespace rueda
