#include "launch/control_group.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "base/text.hpp"
#include "launch/machine.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

/// The first word of a file as a number; 0 where there is none: "max" and "-1"
/// say that there is no limit.
double number_of(const fs::path& file) {
  std::ifstream stream(file);
  double number = 0;
  if (!(stream >> number) || number < 0) return 0;
  return number;
}

void take_tighter(GroupLimit& limit, double value, const fs::path& file) {
  if (value <= 0 || (limit.value > 0 && limit.value <= value)) return;
  limit = {value, file.string()};
}

/// Files of a group by the version of its hierarchy.
struct MemoryFiles {
  std::vector<const char*> limits;
  const char* used;
  const char* reclaimable;  ///< its name in memory.stat
};
const MemoryFiles kMemoryV1{
    {"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file"};
const MemoryFiles kMemoryV2{{"memory.max", "memory.high"}, "memory.current", "inactive_file"};

/// Version 1 shows "no limit" as the largest number of whole pages.
constexpr double kNoLimit = 9e18;

void read_memory(const fs::path& group, const MemoryFiles& files, GroupLimits& limits) {
  for (const char* name : files.limits) {
    const double limit = number_of(group / name);
    if (limit <= 0 || limit >= kNoLimit) continue;
    // Pages of files count as used, although the kernel frees them when a program needs memory.
    const double used = number_of(group / files.used) -
                        double(number_after(group / "memory.stat", files.reclaimable));
    const auto left = std::size_t(std::clamp(limit - used, 0.0, limit));
    if (left >= limits.memory_left) continue;
    limits.memory_left = left;
    limits.memory = {limit, (group / name).string()};
  }
}

void read_quota(const fs::path& group, GroupLimits& limits) {
  double quota = 0;
  double period = 0;
  if (std::ifstream(group / "cpu.max") >> quota >> period && period > 0)
    take_tighter(limits.quota, quota / period, group / "cpu.max");
  period = number_of(group / "cpu.cfs_period_us");
  if (period > 0)
    take_tighter(limits.quota, number_of(group / "cpu.cfs_quota_us") / period,
                 group / "cpu.cfs_quota_us");
}

void read_processors(const fs::path& group, GroupLimits& limits) {
  for (const char* name : {"cpuset.cpus.effective", "cpuset.effective_cpus"})
    take_tighter(limits.processors, double(processors_in(group / name).size()), group / name);
}

/// A hierarchy of groups in which this process has one.
struct Hierarchy {
  std::string controllers;  ///< "memory", "cpu,cpuacct"; empty: version 2
  fs::path group;           ///< of this process, below the root of the hierarchy
};

/// Lines such as "4:memory:/slurm/job_7" and "0::/job/step_0".
std::vector<Hierarchy> hierarchies(const fs::path& root) {
  std::vector<Hierarchy> all;
  std::ifstream lines(root / "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == line.npos) continue;
    all.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return all;
}

/// What setrlimit(2) limits: by its name in /proc/self/limits, the shell's command, and the field
/// of /proc/self/statm, in pages, that counts it.
struct ProcessLimit {
  const char* name;
  const char* command;
  std::size_t used;
};
constexpr std::array kProcessLimits = {ProcessLimit{"Max address space", "ulimit -v", 0},
                                       ProcessLimit{"Max data size", "ulimit -d", 5}};

void read_process(const fs::path& root, GroupLimits& limits) {
  std::array<double, 6> pages{};
  std::ifstream use(root / "proc/self/statm");
  for (double& count : pages) use >> count;
  std::ifstream lines(root / "proc/self/limits");
  for (std::string line; std::getline(lines, line);) {
    for (const ProcessLimit& one : kProcessLimits) {
      std::string_view rest = line;
      if (!take(rest, one.name)) continue;
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      const auto limit = take_number(rest);  // "unlimited" is none
      if (!limit) continue;
      const double used = pages[one.used] * double(sysconf(_SC_PAGESIZE));
      const auto left = std::size_t(std::max(double(*limit) - used - double(kThreadRoom), 0.0));
      if (left >= limits.process_left) continue;
      limits.process_left = left;
      limits.process = {double(*limit), one.command};
    }
  }
}

bool has_controller(const std::string& list, const char* controller) {
  return ("," + list + ",").find(std::string(",") + controller + ",") != std::string::npos;
}

/// A place where a hierarchy is to be seen.
struct Mount {
  fs::path point;
  fs::path group;  ///< of the hierarchy that `point` shows: "/" outside containers
};

/// The mounts of a hierarchy, and where it usually is. A container may see its
/// own group at the mount's root.
std::vector<Mount> mounts_of(const Hierarchy& hierarchy, const fs::path& root) {
  const bool v2 = hierarchy.controllers.empty();
  std::vector<Mount> mounts;
  std::ifstream lines(root / "proc/self/mountinfo");
  for (std::string line; std::getline(lines, line);) {
    const auto end = line.find(" - ");
    if (end == line.npos) continue;
    std::istringstream head(line), tail(line.substr(end + 3));
    std::string skipped, group, point, type, options;
    head >> skipped >> skipped >> skipped >> group >> point;
    tail >> type >> skipped >> options;
    const std::string controllers = hierarchy.controllers;
    const std::string first = controllers.substr(0, controllers.find(','));
    const bool shows =
        v2 ? type == "cgroup2" : type == "cgroup" && has_controller(options, first.c_str());
    if (shows) mounts.push_back({root / fs::path(point).relative_path(), group});
  }
  const fs::path usual = root / "sys/fs/cgroup";
  mounts.push_back({v2 ? usual : usual / hierarchy.controllers, "/"});
  if (v2) mounts.push_back({usual / "unified", "/"});
  return mounts;
}

/// The group and all that it lies in, as far as `mount` shows them.
std::vector<fs::path> groups_in(const Mount& mount, const Hierarchy& hierarchy) {
  fs::path below = hierarchy.group.lexically_relative(mount.group);
  // A group outside what the mount shows: its root is the nearest to it.
  if (below.empty() || below == "." || *below.begin() == "..") below.clear();
  std::vector<fs::path> groups;
  for (; !below.empty(); below = below.parent_path()) groups.push_back(mount.point / below);
  groups.push_back(mount.point);
  return groups;
}

void read_group(const fs::path& group, const std::string& controllers, GroupLimits& limits) {
  const bool v2 = controllers.empty();
  if (v2 || has_controller(controllers, "memory"))
    read_memory(group, v2 ? kMemoryV2 : kMemoryV1, limits);
  if (v2 || has_controller(controllers, "cpu")) read_quota(group, limits);
  if (v2 || has_controller(controllers, "cpuset")) read_processors(group, limits);
}

}  // namespace

GroupLimits control_group_limits(const fs::path& root) {
  GroupLimits limits;
  for (const Hierarchy& hierarchy : hierarchies(root))
    for (const Mount& mount : mounts_of(hierarchy, root))
      for (const fs::path& group : groups_in(mount, hierarchy))
        read_group(group, hierarchy.controllers, limits);
  read_process(root, limits);
  return limits;
}

}  // namespace rueda
