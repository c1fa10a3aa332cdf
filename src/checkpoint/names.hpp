#pragma once

#include <string_view>

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

}  // namespace rueda
