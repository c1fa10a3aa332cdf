#pragma once

#include <string>

#include "base/files.hpp"
#include "rueda/train/config.hpp"
#include "run/run_directory.hpp"

// What an earlier run left in a run directory, and what of it goes: only what
// is a run's own, and only in a directory that this process has claimed.

namespace rueda {

/// Whether `directory` has the record or a checkpoint of a run.
bool holds_run(const fs::path& directory);

/// Throws InputError where a run that begins in `directory` would replace what
/// no run left, unless --overwrite was given, which is answered with a list.
/// Checkpoints that lie behind a link, or hold anything else, are never removed.
void require_replaceable(const TrainConfig& config, const fs::path& directory,
                         const DirectoryClaim& claim);

/// Lets --resume auto begin anew where a run has begun that did not come far.
/// One that stopped as asked has left a checkpoint.
void make_way(const TrainConfig& config, const fs::path& directory);

/// Checkpoints that are later than the one that is resumed from go if the user
/// wants that; what cannot be read is kept under another name, because the disk
/// may be at fault.
void discard_later(const TrainConfig& config, const std::string& checkpoint,
                   const TrainPosition& from);

/// Removes the files that a killed process had not yet renamed; no other process writes here.
void remove_unfinished(const fs::path& directory);

/// Removes what an earlier run left, which must not mix with the files of the next one.
void remove_run(const fs::path& directory);

}  // namespace rueda
