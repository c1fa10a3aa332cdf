#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/start_thread.hpp"
#include "base/text.hpp"
#include "rueda/model/graph.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

// A checkpoint is a directory: manifest.json and the files that it names; docs/checkpoints.md.

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
  Versions versions;
  std::string config;                 ///< a JSON object: the options by their names
  std::string folder;                 ///< from which its relative paths lead; empty: not known
  std::string reduce_table;           ///< what `--all-reduce auto` chose (table_text); else empty
  std::vector<std::string> data;      ///< sizes and fingerprints of the data set
  std::vector<std::string> machines;  ///< by rank: its bits may depend on them
  std::vector<CheckpointFile> files;

  std::size_t global_step() const noexcept {
    return position.epochs * steps_per_epoch + position.steps;
  }
};

/// The text of manifest.json. It contains a checksum of itself.
std::string to_json(const Manifest& manifest);

/// Reads that text. Throws InputError naming `path` and the fault: a changed
/// byte, a newer schema, a field that is missing or impossible.
Manifest parse_manifest(const std::string& text, const fs::path& path);

/// The state from which a run resumes, in host memory.
struct Snapshot {
  std::vector<float> parameters;  ///< the arena
  std::vector<float> statistics;  ///< running means and variances
  std::vector<float> velocities;  ///< of the optimizer, one per parameter
  TextPieces history;             ///< JSON: the finished epochs
};

/// Writes a checkpoint into `directory`: under a temporary name, every file
/// flushed to the disk, all read back and compared, then renamed; a directory
/// that has the name is replaced. Fills `manifest.files`. A crash at any moment
/// leaves no directory of a checkpoint's name that is not whole. Returns its
/// path. Throws RunError naming path and reason; removes what is temporary.
fs::path write_checkpoint(const fs::path& directory, const Graph& graph, const Snapshot& snapshot,
                          Manifest& manifest);

/// Reads a checkpoint's manifest alone. Throws InputError naming what is wrong.
Manifest read_manifest(const fs::path& checkpoint);

/// Reads the manifest and compares every file with it. Throws InputError naming
/// the file and what is wrong with it.
Manifest verify_checkpoint(const fs::path& checkpoint);

/// Reads a verified checkpoint. Throws InputError where it does not fit `graph`.
Snapshot read_snapshot(const fs::path& checkpoint, const Graph& graph);

/// The subdirectory of a run directory.
inline constexpr const char* kCheckpointsName = "checkpoints";
/// In a checkpoint: a file that --init-weights takes.
inline constexpr const char* kCheckpointWeightsName = "weights.safetensors";

/// All entries of `directory` that have a checkpoint's name, the latest
/// position first; none if the directory does not exist. Opens none of them.
/// Throws InputError where the directory exists and cannot be read.
std::vector<fs::path> list_checkpoints(const fs::path& directory);

/// Whether a checkpoint's name is that of a later position.
bool is_later(const fs::path& checkpoint, const TrainPosition& position);

/// What to do about a folder of checkpoints that is a link (require_own_folder).
inline constexpr const char* kOwnCheckpoints =
    "a run's checkpoints lie in its run directory: remove the link, or move the whole run to where "
    "there is room (--run-dir itself may be a link)";

/// The name of a file in a checkpoint's directory that no checkpoint has; empty: there is none.
std::string foreign_file_in(const fs::path& checkpoint);

/// Removes a checkpoint, if possible; one with a foreign file stays. Renames it
/// first, so that no crash leaves a part of it under its name.
void discard_checkpoint(const fs::path& checkpoint);

/// Renames a checkpoint to `passed-over-<name>`, if it can: a run goes on from an earlier one.
void set_checkpoint_aside(const fs::path& checkpoint);

/// Removes all but the latest `keep`, and never `spared`. What cannot be
/// removed stays, and so does all that lies behind a link `directory`.
void remove_older_checkpoints(const fs::path& directory, std::size_t keep,
                              const fs::path& spared = {});

/// Removes unfinished checkpoints of processes that were killed; none behind a link `directory`.
void remove_unfinished_checkpoints(const fs::path& directory);

/// Writes checkpoints on a thread of its own, one at a time, and removes old
/// ones once the new one is proven. One thread calls it. Its destructor waits
/// for the last write.
class CheckpointWriter {
 public:
  /// Creates `directory` if necessary. Adds what it has written to `records`. Both outlive it.
  CheckpointWriter(fs::path directory, const Graph& graph, std::size_t keep,
                   std::vector<CheckpointRecord>& records)
      : directory_(std::move(directory)), graph_(graph), keep_(keep), records_(records) {}

  /// Waits for at most `time`. Returns whether nothing is being written.
  bool wait_for(std::chrono::milliseconds time) {
    return !writing_.valid() || writing_.wait_for(time) == std::future_status::ready;
  }
  /// Waits until nothing is being written. Throws what the last write threw.
  void wait() {
    if (writing_.valid()) records_.push_back(writing_.get());
  }
  /// The same; returns the snapshot, to be filled again.
  Snapshot& free_snapshot() {
    wait();
    return snapshot_;
  }
  /// Begins to write the snapshot. `pause_seconds` goes into its record.
  void write(Manifest manifest, double pause_seconds) {
    writing_ = start_thread("writing a checkpoint", [&] {
      return std::async(std::launch::async, &CheckpointWriter::carry_out, this, std::move(manifest),
                        pause_seconds);
    });
  }

 private:
  CheckpointRecord carry_out(Manifest manifest, double pause_seconds) const;

  fs::path directory_;
  const Graph& graph_;
  std::size_t keep_;
  std::vector<CheckpointRecord>& records_;
  Snapshot snapshot_;                      ///< belongs to the thread that writes while there is one
  std::future<CheckpointRecord> writing_;  // last: it ends before what it uses goes
};

}  // namespace rueda
