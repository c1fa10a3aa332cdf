#pragma once

#include <string>

namespace rueda {

/// The field of run.json and of a checkpoint with the folder from which relative paths of its
/// options lead.
inline constexpr const char* kWorkingDirectory = "working_directory";

/// The folder in which this process was started; empty where the system does not tell.
std::string working_directory();

/// A path that a run recorded which was started in `folder` (absolute; else not
/// known), for use from here: what it led to there, if that is still there,
/// else the path as it is.
std::string recorded_path(const std::string& path, const std::string& folder);

}  // namespace rueda
