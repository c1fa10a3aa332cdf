#pragma once

#include <array>
#include <string_view>

#include "run/checkpoint/checkpoint.hpp"

namespace rueda {

/// Begins the names of what is not finished, or about to go.
inline constexpr std::string_view kTemporaryWord = ".unfinished-";

// Names in a checkpoint, besides kCheckpointWeightsName.
inline constexpr const char* kMomentumName = "momentum.safetensors";
inline constexpr const char* kHistoryName = "history.json";
/// All of them.
inline constexpr std::array kCheckpointFiles = {kManifestName, kCheckpointWeightsName,
                                                kMomentumName, kHistoryName};

/// All files of a checkpoint are read, which takes time.
inline constexpr std::size_t kMostFileBytes = std::size_t{1} << 36U;

/// "epoch-0002-step-00012": names in the order of training.
std::string checkpoint_name(const TrainPosition& position);

/// A checkpoint or one of its files, and what to do where it is refused.
InputFile checkpoint_file(const fs::path& path);

/// CRC-32 as of gzip and PNG; `before`: of the bytes in front of these.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

}  // namespace rueda
