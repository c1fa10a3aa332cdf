#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mpi/session/session.hpp"
#include "resume_point.hpp"
#include "rueda/checkpoint/checkpoint.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/trainer.hpp"
#include "train_setup.hpp"

namespace rueda {

/// Waiting around training is this much more patient than --stall-seconds: for disks.
inline constexpr double kPatience = 10;

/// The steps by which a run restores the state of a checkpoint. Each is a collective, and does
/// nothing in a run that is not resumed.
class Resuming {
 public:
  explicit Resuming(RankGroup& world) : world_(world) {}

  /// Finds the checkpoint that `config.resume` names, and completes `config` from it. `data` as in
  /// Manifest. Throws InputError, the same on every rank.
  void begin(TrainConfig& config, const std::vector<std::string>& data);
  bool active() const noexcept { return point_.has_value(); }
  const std::string& checkpoint() const { return point_->checkpoint; }
  /// Whether the run resumes in its own directory and had the same --save-weights before: then an
  /// existing file is its own.
  bool wrote_weights(const TrainConfig& config) const;
  TrainPosition from() const { return point_ ? point_->manifest.position : TrainPosition(); }

  /// Reads the checkpoint, and adds its history and this resumption to `run`. Returns the weights
  /// on rank 0, to be broadcast as others are.
  std::optional<HostWeights> read(const Graph& graph, RunRecord& run);
  /// Restores every rank's velocities and what its all-reduce carries over. Every bucket must have
  /// been summed once.
  void restore(Backend& backend, AllReduce& all_reduce, std::span<float> velocities);

  /// Lines for the user, also on other machines and versions, which may change the last bits.
  std::vector<std::string> remarks(const RunRecord& run);

 private:
  RankGroup& world_;
  std::optional<ResumePoint> point_;
  std::vector<float> velocities_;            ///< on rank 0
  std::vector<std::vector<float>> carried_;  ///< on rank 0, by rank
};

/// Saves checkpoints: copies the state of the replicas to rank 0, which writes it into the run
/// directory and adds a record of each to `run`.
class RunCheckpoints final : public CheckpointSink {
 public:
  /// The arguments must outlive it.
  RunCheckpoints(Session& session, RankGroup& world, const Graph& graph, AllReduce& all_reduce,
                 RunRecord& run)
      : session_(session), world_(world), graph_(graph), all_reduce_(all_reduce), run_(run) {}
  /// Call before the first save, once `run` has its ranks. `data` as in Manifest.
  void open(std::vector<std::string> data);

  void save(const TrainState& state) override;
  /// Collective: returns when all saved checkpoints are on the disk and were read back. Throws
  /// RunError, the same on every rank, if that failed.
  void wait_for_writer();

 private:
  void await_writer();
  [[noreturn]] void leave_disk(double seconds);
  void keep_records();
  void take_copy(const TrainState& state, Snapshot& copy);
  std::vector<std::vector<float>> gather_carried(Backend& backend);

  Session& session_;
  RankGroup& world_;
  const Graph& graph_;
  AllReduce& all_reduce_;
  RunRecord& run_;
  Manifest facts_;                            ///< all but position, time and files
  std::unique_ptr<CheckpointWriter> writer_;  ///< on rank 0
};

}  // namespace rueda
