#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "resume_point.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/run_record.hpp"
#include "train_setup.hpp"

namespace rueda {

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
  /// Adds remarks on other machines and versions (as in Manifest), which may change the last bits.
  void compare(const std::vector<std::string>& machines,
               const std::vector<std::pair<std::string, std::string>>& versions);

  /// Lines for the user.
  std::vector<std::string> remarks() const {
    return point_ ? point_->remarks : std::vector<std::string>();
  }

 private:
  RankGroup& world_;
  std::optional<ResumePoint> point_;
  std::vector<float> velocities_;            ///< on rank 0
  std::vector<std::vector<float>> carried_;  ///< on rank 0, by rank
};

}  // namespace rueda
