#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "rueda/checkpoint/checkpoint.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// Writes checkpoints on a thread of its own, one at a time, and removes old ones once the new one
/// is proven.
class CheckpointWriter {
 public:
  /// Writes into `directory`, and creates it if necessary. `graph` outlives the writer.
  CheckpointWriter(std::filesystem::path directory, const Graph& graph, std::size_t keep);
  /// Waits for the last write.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

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
  struct Order {
    Manifest manifest;
    double pause_seconds = 0;
  };

  void wait();
  void work(const std::stop_token& stop);
  CheckpointRecord carry_out(Order& order);

  std::filesystem::path directory_;
  const Graph& graph_;
  std::size_t keep_;
  Snapshot snapshot_;  ///< belongs to the thread while there is an order
  std::mutex mutex_;   ///< guards what follows
  std::condition_variable_any changed_;
  std::optional<Order> order_;
  std::exception_ptr failure_;
  std::vector<CheckpointRecord> records_;
  std::jthread thread_;  // last: it ends before what it uses goes
};

}  // namespace rueda
