#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace rueda {

/// A limit that a control group sets, and the file that says so.
struct GroupLimit {
  double value = 0;  ///< 0: there is none
  std::string file;
};

/// The tightest limits of the control groups that this process is in.
struct GroupLimits {
  GroupLimit memory;                   ///< bytes, of the group that leaves the least
  GroupLimit quota;                    ///< cores' worth of time
  GroupLimit processors;               ///< how many the group's cpuset has
  std::size_t memory_left = SIZE_MAX;  ///< bytes; SIZE_MAX: no limit
};

/// Reads the process's groups in /proc/self/cgroup and walks from each to the
/// root of its hierarchy, because a parent's limit holds for its children too.
/// Knows version 2, version 1 and both at once (kernel: admin-guide/cgroup-v2,
/// admin-guide/cgroup-v1). `root`: the folder that has proc and sys.
GroupLimits control_group_limits(const std::filesystem::path& root = "/");

}  // namespace rueda
