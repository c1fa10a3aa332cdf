#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// `schema_version` of manifest.json: raised when older programs cannot read a new checkpoint.
inline constexpr int kCheckpointSchemaVersion = 1;
inline constexpr const char* kManifestName = "manifest.json";

/// One of a checkpoint's files.
struct CheckpointFile {
  std::string name;  ///< in the checkpoint's directory
  std::size_t bytes = 0;
  std::uint32_t crc32 = 0;
};

/// The description of a checkpoint.
struct Manifest {
  TrainPosition position;
  std::size_t steps_per_epoch = 0;
  std::size_t world = 0;          ///< ranks
  std::size_t micro_batches = 0;  ///< of a rank, per step
  std::size_t global_batch = 0;
  std::string written_at;  ///< ISO 8601, UTC
  std::vector<std::pair<std::string, std::string>> versions;
  std::string config;                 ///< a JSON object: the options by their names
  std::vector<std::string> data;      ///< sizes and fingerprints of the data set
  std::vector<std::string> machines;  ///< by rank: its bits may depend on them
  std::vector<CheckpointFile> files;

  std::size_t global_step() const noexcept {
    return position.epochs * steps_per_epoch + position.steps;
  }
};

/// The text of manifest.json. It contains a checksum of itself.
std::string to_json(const Manifest& manifest);

/// Reads that text. Throws InputError naming `path` and the fault: a changed byte, a newer schema,
/// a field that is missing or impossible.
Manifest parse_manifest(const std::string& text, const std::filesystem::path& path);

}  // namespace rueda
