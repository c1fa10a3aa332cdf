#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <future>
#include <utility>
#include <vector>

#include "rueda/checkpoint/checkpoint.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// Writes checkpoints on a thread of its own, one at a time, and removes old ones once the new one
/// is proven. One thread calls it. Its destructor waits for the last write.
class CheckpointWriter {
 public:
  /// Writes into `directory`, and creates it if necessary. `graph` outlives the writer.
  CheckpointWriter(std::filesystem::path directory, const Graph& graph, std::size_t keep)
      : directory_(std::move(directory)), graph_(graph), keep_(keep) {}

  /// Waits for at most `time`. Returns whether nothing is being written.
  bool wait_for(std::chrono::milliseconds time);
  /// Waits until nothing is being written and returns the snapshot, to be filled again. Throws what
  /// the last write threw.
  Snapshot& free_snapshot();
  /// Begins to write the snapshot. `pause_seconds` goes into its record.
  void write(Manifest manifest, double pause_seconds);
  /// Records of the writes since the last call. Waits, and throws, as free_snapshot does.
  std::vector<CheckpointRecord> take_records();

 private:
  void wait();
  CheckpointRecord carry_out(Manifest manifest, double pause_seconds) const;

  std::filesystem::path directory_;
  const Graph& graph_;
  std::size_t keep_;
  Snapshot snapshot_;  ///< belongs to the thread that writes while there is one
  std::vector<CheckpointRecord> records_;
  std::future<CheckpointRecord> writing_;  // last: it ends before what it uses goes
};

}  // namespace rueda
