#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "rueda/train/position.hpp"

namespace rueda {

/// Of a run directory.
inline constexpr const char* kCheckpointsName = "checkpoints";

/// All in `directory` that have a checkpoint's name, the latest position first; none if there is no
/// such directory. What they hold is not looked at. Throws InputError where the directory can not
/// be read, which is not the same as having none.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& directory);

/// Whether a checkpoint's name is that of a later position.
bool is_later(const std::filesystem::path& checkpoint, const TrainPosition& position);

/// Removes a checkpoint, if that can be done; it loses its name first, so that no crash leaves a
/// part of it under it.
void discard_checkpoint(const std::filesystem::path& checkpoint);

/// Takes a checkpoint out of the way of a run that goes on from an earlier one: its name becomes
/// `passed-over-<name>`. Nothing of it is removed; where it can not be renamed, it stays.
void set_checkpoint_aside(const std::filesystem::path& checkpoint);

/// Removes all but the latest `keep`, and never `spared`. What can not be removed stays.
void remove_older_checkpoints(const std::filesystem::path& directory, std::size_t keep,
                              const std::filesystem::path& spared = {});

/// Removes what killed processes left half-written.
void remove_unfinished_checkpoints(const std::filesystem::path& directory);

}  // namespace rueda
