#pragma once

#include <memory>
#include <vector>

#include "rueda/checkpoint/checkpoint_writer.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/observer.hpp"

namespace rueda {

/// The checkpoints of a run: takes them from the replicas to rank 0, which writes them into its run
/// directory. `run` gets a record of each.
class RunCheckpoints final : public CheckpointSink {
 public:
  /// All of it outlives them.
  RunCheckpoints(RankGroup& world, const Graph& graph, AllReduce& all_reduce, RunRecord& run)
      : world_(world), graph_(graph), all_reduce_(all_reduce), run_(run) {}
  /// Before the first is saved. `facts`: a manifest in which position, time and files are open.
  void open(Manifest facts);

  void save(const TrainState& state) override;
  /// Collective: returns once all that was saved is on the disk and was read back. Throws RunError,
  /// alike on every rank, if that went wrong.
  void settle();

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

/// Collective: every rank gets rank 0's velocities, on its device.
void broadcast_velocities(RankGroup& world, Backend& backend, std::span<float> velocities,
                          std::vector<float> values);

/// Collective: every rank gets what it had carried over from sum to sum. Returns whether `carried`,
/// of rank 0, was of as many ranks and the same buckets; else nothing is done.
bool restore_carried(RankGroup& world, Backend& backend, AllReduce& all_reduce,
                     std::vector<std::vector<float>> carried);

}  // namespace rueda
