#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"
#include "run/checkpoint/checkpoint.hpp"

namespace rueda {

/// What a checkpoint is loaded for: `rueda train --resume` or `rueda evaluate --init-weights`.
enum class LoadFor { training, evaluation };

/// The checkpoint from which a run resumes.
struct ResumePoint {
  std::string checkpoint;  ///< path of its directory
  Manifest manifest;
};

/// The run directory in which a checkpoint lies; empty where it lies elsewhere, a copy for example.
std::string run_directory_of(const std::string& checkpoint);

/// "--resume DIR" or "--init-weights DIR", as messages name it.
std::string resume_words(const TrainConfig& config, LoadFor purpose);

/// The checkpoints that --resume may mean, the latest first: those of a run
/// directory, or the one named. Throws InputError where there is none, unless
/// it is `auto`.
std::vector<fs::path> resume_candidates(const TrainConfig& config, LoadFor purpose);

/// The latest undamaged one of them; notes those that were passed over. An empty one where `auto`
/// finds none. Looks again where a run that goes on removes checkpoints meanwhile. Throws
/// InputError where all are damaged.
ResumePoint latest_checkpoint(const TrainConfig& config, LoadFor purpose);

/// Collective: rank 0 finds the latest undamaged one and sends it to all ranks. Nothing without
/// --resume, and with `auto` where there is none. Throws InputError, the same on every rank, where
/// all are damaged.
std::optional<ResumePoint> find_resume_point(RankGroup& world, const TrainConfig& config,
                                             LoadFor purpose);

/// Whether --save-weights of the run that wrote the checkpoint is, in this
/// process, the file that `config.output.save_weights` names: the same path, which is
/// absolute or was relative to the same directory, as the run directory's
/// shows.
bool saves_same_weights(const Manifest& manifest, const TrainConfig& config);

/// Completes `config` for a run that resumes from `point`: the same global
/// batches, cut into the same micro-batches if the number of ranks allows it.
/// Throws InputError where an option or the data would change the numbers,
/// where the recorded numbers do not follow from them, and where no run
/// directory is known. Notes differences that change only the last bits. `data`
/// as in Manifest.
void adopt(const ResumePoint& point, TrainConfig& config, std::size_t world,
           const std::vector<std::string>& data, std::size_t train_images);

/// Notes other machines and versions (as in Manifest), which may change the last bits.
void compare_machines(const ResumePoint& point, const std::vector<std::string>& machines,
                      const Versions& versions);

}  // namespace rueda
