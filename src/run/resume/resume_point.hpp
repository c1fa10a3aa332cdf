#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rueda/train/config.hpp"
#include "run/checkpoint/checkpoint.hpp"

namespace rueda {

/// Where a checkpoint is looked for.
struct CheckpointPlace {
  std::string option;     ///< that names it, for messages
  std::string path;       ///< a run directory, a checkpoint, or `auto`
  std::string directory;  ///< the run directory that `auto` means
  std::string instead;    ///< what else the option takes

  /// "--resume DIR", as messages name it.
  std::string words() const { return option + ' ' + path; }
};

/// Of --resume.
CheckpointPlace resumed_place(const TrainConfig& config);

/// The checkpoint from which a run resumes.
struct ResumePoint {
  std::string checkpoint;  ///< path of its directory
  Manifest manifest;
};

/// The run directory in which a checkpoint lies; empty where it lies elsewhere, a copy for example.
std::string run_directory_of(const std::string& checkpoint);

/// The latest undamaged checkpoint of that place; notes those that were passed over. An empty one
/// where `auto` finds none. Looks again where a run that goes on removes checkpoints meanwhile.
/// Throws InputError where there is none, or all are damaged.
ResumePoint latest_checkpoint(const CheckpointPlace& place);

/// "resumes from DIR, after epoch 3" as a note; `what` begins it.
void note_checkpoint(const ResumePoint& point, const std::string& what);

/// In bytes, for other ranks. Without a checkpoint it is empty.
std::string encode(const ResumePoint& point);
std::optional<ResumePoint> decode(const std::string& text);

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
