#pragma once

#include <memory>
#include <vector>

#include "rueda/checkpoint/checkpoint_writer.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/observer.hpp"

namespace rueda {

/// Saves checkpoints: copies the state of the replicas to rank 0, which writes it into the run
/// directory and adds a record of each to `run`.
class RunCheckpoints final : public CheckpointSink {
 public:
  /// The arguments must outlive it.
  RunCheckpoints(RankGroup& world, const Graph& graph, AllReduce& all_reduce, RunRecord& run)
      : world_(world), graph_(graph), all_reduce_(all_reduce), run_(run) {}
  /// Call before the first save. `facts`: a manifest without position, time and files.
  void open(Manifest facts);

  void save(const TrainState& state) override;
  /// Collective: returns when all saved checkpoints are on the disk and were read back. Throws
  /// RunError, the same on every rank, if that failed.
  void wait_for_writer();

 private:
  void await_writer();
  void keep_records();
  void take_copy(const TrainState& state, Snapshot& copy);
  std::vector<std::vector<float>> gather_carried(Backend& backend);

  RankGroup& world_;
  const Graph& graph_;
  AllReduce& all_reduce_;
  RunRecord& run_;
  Manifest facts_;
  std::unique_ptr<CheckpointWriter> writer_;  ///< on rank 0
};

/// Collective: copies rank 0's velocities to the device of every rank.
void broadcast_velocities(RankGroup& world, Backend& backend, std::span<float> velocities,
                          std::vector<float> values);

/// Collective: gives every rank what it carries over from sum to sum. `carried` is that of rank 0.
/// Does nothing and returns false where it was of other ranks or buckets.
bool restore_carried(RankGroup& world, Backend& backend, AllReduce& all_reduce,
                     std::vector<std::vector<float>> carried);

}  // namespace rueda
