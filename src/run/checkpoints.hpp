#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/replica.hpp"
#include "record/run_json.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/run_record.hpp"
#include "run/checkpoint/checkpoint.hpp"
#include "run/job.hpp"
#include "run/resume/resume_point.hpp"
#include "run/run_directory.hpp"
#include "run/train_setup.hpp"

namespace rueda {

/// The steps by which a run restores the state of a checkpoint. Each is a
/// collective, and does nothing in a run that is not resumed.
class Resuming {
 public:
  explicit Resuming(RankGroup& world) : world_(world) {}

  /// Collective: rank 0 finds the checkpoint of --resume, if there is one, and takes over its
  /// options; `claim` is then to its run directory. Checks `config`. Throws InputError, the same
  /// on every rank.
  void find(TrainConfig& config, DirectoryClaim& claim);
  /// Collective: completes `config` for the data that are here; `data` as in Manifest. Throws
  /// InputError, the same on every rank.
  void begin(TrainConfig& config, const std::vector<std::string>& data, std::size_t train_images);
  bool active() const noexcept { return point_.has_value(); }
  const std::string& checkpoint() const { return point_->checkpoint; }
  /// Whether the run resumes in its own directory and had the same
  /// --save-weights before: then an existing file is its own.
  bool wrote_weights(const TrainConfig& config) const;
  TrainPosition from() const;
  /// What `--all-reduce auto` chose on as many ranks (table_text); empty: nothing that is known.
  std::string reduce_table() const;

  /// Reads the checkpoint, and adds its history and this resumption to `run`.
  void read(const Graph& graph, RunRecord& run);
  /// Collective, after `read`: how the run ended that would go on in its own directory, if nothing
  /// is left to train and its record there is complete; empty: it did not.
  std::string ended(const TrainConfig& config, const RunRecord& run);
  /// The weights that were read, on rank 0, to be broadcast as others are.
  std::optional<HostWeights> take_weights();
  /// Restores the velocities of the optimizer.
  void restore(Backend& device, std::span<float> velocities);
  /// Notes other machines and versions than before, which may change the last bits.
  void compare_machines(const RunRecord& run) const;

 private:
  RankGroup& world_;
  std::optional<ResumePoint> point_;
  Snapshot snapshot_;  ///< on rank 0: what is still to be restored of it
};

/// Saves checkpoints: rank 0 copies the state of its replica, writes it into
/// the run directory and adds a record of each to `run`.
class RunCheckpoints {
 public:
  /// The references must outlive it. `data` as in Manifest.
  RunCheckpoints(Job& job, Replica& replica, RunRecord& run, std::vector<std::string> data);

  /// TrainerParts::save.
  void save(const TrainPosition& position, std::span<float> velocities);
  /// Collective: all are on the disk and were read back, or every rank throws the same RunError.
  void wait_for_writer();

 private:
  void await_writer();
  [[noreturn]] void leave_disk(double seconds);
  void download(std::span<float> from, std::vector<float>& to);
  Manifest manifest_at(const TrainPosition& position) const;

  Job& job_;
  Replica& replica_;
  RunRecord& run_;
  std::vector<std::string> data_;
  HistoryWriter history_;
  std::unique_ptr<CheckpointWriter> writer_;  ///< on rank 0
};

}  // namespace rueda
