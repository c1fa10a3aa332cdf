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

/// The steps by which a run gets back to where a checkpoint was taken. Each is a collective, and
/// does nothing where nothing is resumed.
class Resuming {
 public:
  explicit Resuming(RankGroup& world) : world_(world) {}

  /// Looks for the checkpoint that `config.resume` means, and makes `config` that of its run.
  /// `data` as in Manifest. Throws InputError, alike on every rank.
  void begin(TrainConfig& config, const std::vector<std::string>& data);
  bool active() const noexcept { return point_.has_value(); }
  const std::string& checkpoint() const { return point_->checkpoint; }
  /// Whether a run that goes on in its directory was to write the same --save-weights before: the
  /// file that is there is its own, then.
  bool wrote_weights(const TrainConfig& config) const;
  TrainPosition from() const { return point_ ? point_->manifest.position : TrainPosition(); }

  /// Reads the checkpoint; `run` gets its history and this resumption. Returns the weights on rank
  /// 0, for the broadcast that all weights go through.
  std::optional<HostWeights> read(const Graph& graph, RunRecord& run);
  /// Gives every rank its velocities and what its all-reduce carries over; that all sums were made
  /// once is assumed.
  void restore(Backend& backend, AllReduce& all_reduce, std::span<float> velocities);
  /// Adds what `machines` and `versions` (as in Manifest) change about the last bits.
  void compare(const std::vector<std::string>& machines,
               const std::vector<std::pair<std::string, std::string>>& versions);

  /// For the user.
  std::vector<std::string> remarks() const {
    return point_ ? point_->remarks : std::vector<std::string>();
  }

 private:
  RankGroup& world_;
  std::optional<ResumePoint> point_;
  std::vector<float> velocities_;            ///< on rank 0
  std::vector<std::vector<float>> carried_;  ///< likewise, by rank
};

}  // namespace rueda
