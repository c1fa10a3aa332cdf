#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rueda/checkpoint/checkpoint.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// What a run goes on from.
struct ResumePoint {
  std::string checkpoint;  ///< path of its directory
  Manifest manifest;
  std::vector<std::string> remarks;  ///< lines that the user is to read
};

/// The run directory in which a checkpoint lies; empty where it lies elsewhere, a copy for example.
std::string run_directory_of(const std::string& checkpoint);

/// The checkpoints that `--resume` may mean, the latest first: those of a run directory, or the one
/// named. Throws InputError where there is none; `auto`: then there are none.
std::vector<std::string> resume_candidates(const TrainConfig& config);

/// Collective: rank 0 looks for the latest of them that is undamaged, and all ranks learn of it.
/// Nothing without --resume, and with `auto` where no run has left any. Throws InputError, alike on
/// every rank, where all are damaged.
std::optional<ResumePoint> find_resume_point(RankGroup& world, const TrainConfig& config);

/// --save-weights of the run that wrote the checkpoint; empty without.
std::string saved_weights(const Manifest& manifest);

/// Whether that is, in this process, the file that `config.save_weights` names: the same path,
/// which is absolute or was relative to the same directory, as the run directory's shows.
bool saves_same_weights(const Manifest& manifest, const TrainConfig& config);

/// What this run is, as far as its numbers depend on it.
struct ResumingRun {
  std::size_t world = 1;
  std::vector<std::string> data;  ///< as in Manifest
};

/// Makes `config` that of a run that goes on from `point`: the same global batches, cut into the
/// same micro-batches if the ranks can do that. Throws InputError where an option or the data
/// differ in what decides about the numbers, and where it is not known which directory to write
/// into; differences that only cost bits become remarks.
void adopt(ResumePoint& point, TrainConfig& config, const ResumingRun& run);

/// Remarks on what else the last bits depend on: `machines` and `versions` as in Manifest.
void compare_machines(ResumePoint& point, const std::vector<std::string>& machines,
                      const std::vector<std::pair<std::string, std::string>>& versions);

}  // namespace rueda
