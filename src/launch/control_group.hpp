#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace rueda {

/// A limit, and what sets it: the file of a control group, or the shell's ulimit.
struct GroupLimit {
  double value = 0;  ///< 0: there is none
  std::string source;
};

/// The tightest limits of the control groups that this process is in, and its own.
struct GroupLimits {
  GroupLimit memory;                    ///< bytes, of the group that leaves the least
  GroupLimit quota;                     ///< cores' worth of time
  GroupLimit processors;                ///< how many the group's cpuset has
  std::size_t memory_left = SIZE_MAX;   ///< bytes, for all of the group; SIZE_MAX: no limit
  GroupLimit process;                   ///< bytes, of this process alone
  std::size_t process_left = SIZE_MAX;  ///< bytes, less kThreadRoom; SIZE_MAX: no limit
};

/// Bytes of a process's own limit that stacks and heaps of threads take which start later.
inline constexpr std::size_t kThreadRoom = 256 << 20;

/// Reads the process's groups in /proc/self/cgroup and walks from each to the
/// root of its hierarchy, because a parent's limit holds for its children too.
/// Knows version 2, version 1 and both at once (kernel: admin-guide/cgroup-v2,
/// admin-guide/cgroup-v1). The process's own limits are those of memory that are
/// in force (setrlimit(2): RLIMIT_AS, RLIMIT_DATA). `root`: the folder that has proc and sys.
GroupLimits control_group_limits(const std::filesystem::path& root = "/");

}  // namespace rueda
