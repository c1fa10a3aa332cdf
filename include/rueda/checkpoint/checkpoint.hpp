#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "manifest.hpp"
#include "rueda/core/text_pieces.hpp"
#include "rueda/model/graph.hpp"

namespace rueda {

// A checkpoint is a directory: manifest.json and the files that it names; docs/checkpoints.md.

/// What a run goes on with, in host memory.
struct Snapshot {
  std::vector<float> parameters;  ///< the arena
  std::vector<float> statistics;  ///< running means and variances
  std::vector<float> velocities;  ///< of the optimizer, one per parameter
  /// [rank]: what rounding on the wire took so far (--wire-error-feedback); empty without.
  std::vector<std::vector<float>> carried;
  TextPieces history;  ///< JSON: the finished epochs
};

/// "epoch-0002-step-00012": names in the order of training.
std::string checkpoint_name(const TrainPosition& position);

/// Writes a checkpoint into `directory`: under a temporary name, every file flushed to the disk,
/// all read back and compared, then renamed; a directory that has the name is replaced. Fills
/// `manifest.files`. A crash at any moment leaves no directory of a checkpoint's name that is not
/// whole. Returns its path. Throws RunError naming path and reason; nothing temporary stays behind.
std::filesystem::path write_checkpoint(const std::filesystem::path& directory, const Graph& graph,
                                       const Snapshot& snapshot, Manifest& manifest);

/// Reads a checkpoint's manifest alone. Throws InputError naming what is wrong.
Manifest read_manifest(const std::filesystem::path& checkpoint);

/// Reads the manifest and compares every file with it. Throws InputError naming the file
/// and what is wrong with it.
Manifest verify_checkpoint(const std::filesystem::path& checkpoint);

/// Reads what was verified. Throws InputError where it does not fit `graph`.
Snapshot read_snapshot(const std::filesystem::path& checkpoint, const Manifest& manifest,
                       const Graph& graph);

}  // namespace rueda
