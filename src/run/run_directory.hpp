#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "directory_claim.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/position.hpp"

namespace rueda {

/// Claims the run directory that --resume means before anything is read from it, so that no other
/// process continues it meanwhile. Claims nothing where the run writes elsewhere. Throws InputError
/// where another process has it.
DirectoryClaim claim_to_resume(const TrainConfig& config);

/// Makes the directory that a run writes into, and shows that it can be written; `claim` is to it,
/// now or already. Without --run-dir it is a new one, `runs/<model>-np<ranks>-<number>`. Throws
/// InputError where it cannot be made or written, where another process writes into it, and where
/// it holds an earlier run and --overwrite was not given. With --resume auto an earlier run that
/// has neither ended nor left a checkpoint is set aside: run.json becomes run-1.json, and steps.csv
/// becomes steps-1.csv.
std::string make_run_directory(const TrainConfig& config, int ranks, DirectoryClaim& claim);

/// The same for a run that resumes from `checkpoint`, which is at the position `from`, in
/// `config.run_dir`. In the checkpoint's own run directory its files stay: steps.csv keeps the
/// finished epochs, and checkpoints later than this one go, with --overwrite, or are set aside,
/// damaged; a whole one is refused. Another directory must be new, as for any run.
std::string continue_run_directory(const TrainConfig& config, const std::string& checkpoint,
                                   const TrainPosition& from, DirectoryClaim& claim);

/// Whether `directory` is --run-dir, which the run makes and tries itself.
bool names_run_directory(const TrainConfig& config, const std::filesystem::path& directory);

/// Whether `directory` does not exist yet and the run will make it: its own, or one above it.
bool will_exist(const TrainConfig& config, const std::filesystem::path& directory);

/// Whether `config.run_dir` is the run directory in which `checkpoint` lies.
bool resumes_in_place(const TrainConfig& config, const std::string& checkpoint);

/// Whether a file can be made and written in a directory, found by doing it.
bool can_write_into(const std::filesystem::path& directory);

}  // namespace rueda
