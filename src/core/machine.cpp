#include "rueda/core/machine.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <set>
#include <string>

#include <sched.h>
#include <unistd.h>

namespace rueda {
namespace {

std::string count(std::size_t n, const std::string& thing) {
  return std::to_string(n) + " " + thing + (n == 1 ? "" : "s");
}

std::size_t usable_cores(const NodeCores& node) {
  std::set<int> all;
  for (const auto& cores : node.allowed) all.insert(cores.begin(), cores.end());
  if (node.quota <= 0) return all.size();
  return std::clamp<std::size_t>(static_cast<std::size_t>(node.quota), 1, all.size());
}

std::string remark_on(const NodeCores& node, std::size_t local, std::size_t threads) {
  const std::size_t bound = node.allowed[local].size();
  const std::size_t usable = usable_cores(node);
  const std::size_t ranks = node.allowed.size();
  const std::string wanted = std::to_string(threads);
  if (threads > bound) {
    if (!node.launched) {
      return "may use " + count(bound, "core") + " but runs " + count(threads, "thread") +
             ": lower --threads";
    }
    return "bound to " + count(bound, "core") + " by its launcher but runs " +
           count(threads, "thread") + ": add --bind-to none (mpirun) or --cpus-per-task " + wanted +
           " (srun)";
  }
  if (ranks * threads > usable) {
    return "shares " + count(usable, "core") + " with " + std::to_string(ranks) + " ranks of " +
           count(threads, "thread") +
           ": oversubscribed, so its timings do not show scaling; use fewer ranks or --threads";
  }
  if (node.launched && node.quota <= 0 && usable < static_cast<std::size_t>(node.online)) {
    return "the launcher leaves " + count(static_cast<std::size_t>(node.online) - usable, "core") +
           " of this node unused: add --bind-to none (mpirun) or --cpus-per-task (srun) to use "
           "them";
  }
  return {};
}

std::size_t available_on_machine() {
  std::ifstream info("/proc/meminfo");
  std::string name, unit;
  for (std::size_t kib = 0; info >> name >> kib && std::getline(info, unit);) {
    if (name == "MemAvailable:") return kib * 1024;
  }
  return 0;
}

/// Pages of files count as used, although the kernel frees them when a program needs memory.
std::size_t file_pages_of_control_group() {
  std::ifstream file("/sys/fs/cgroup/memory.stat");
  std::string name;
  for (std::size_t bytes = 0; file >> name >> bytes;) {
    if (name == "inactive_file") return bytes;
  }
  return 0;
}

/// A limit is a number or the word "max", which reads as no number.
std::size_t left_by_control_group() {
  std::ifstream limit_file("/sys/fs/cgroup/memory.max");
  std::ifstream used_file("/sys/fs/cgroup/memory.current");
  std::size_t limit = 0;
  std::size_t used = 0;
  if (!(limit_file >> limit) || !(used_file >> used))
    return std::numeric_limits<std::size_t>::max();
  used -= std::min(used, file_pages_of_control_group());
  return limit > used ? limit - used : 0;
}

}  // namespace

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int c = 0; c < CPU_SETSIZE; ++c) {
      if (CPU_ISSET(static_cast<std::size_t>(c), &set)) cores.push_back(c);
    }
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

int online_cores() { return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))); }

double cpu_quota() {
  std::ifstream limit("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  return limit >> quota >> period && period > 0 ? quota / period : 0;
}

double core_share(const NodeCores& node, std::size_t local) {
  double share = 0;
  for (const int core : node.allowed[local]) {
    const auto sharers =
        std::count_if(node.allowed.begin(), node.allowed.end(), [&](const std::vector<int>& cores) {
          return std::find(cores.begin(), cores.end(), core) != cores.end();
        });
    share += 1.0 / static_cast<double>(sharers);
  }
  if (node.quota <= 0) return share;
  return std::min(share, node.quota / static_cast<double>(node.allowed.size()));
}

ThreadChoice choose_threads(const NodeCores& node, std::size_t local, int requested) {
  ThreadChoice choice;
  // A hair more than the sum of thirds, so that 3 x 1/3 counts as a whole core.
  const double share = core_share(node, local) + 1e-9;
  choice.threads = requested > 0 ? requested : std::max(1, static_cast<int>(share));
  choice.remark = remark_on(node, local, static_cast<std::size_t>(choice.threads));
  return choice;
}

std::size_t available_host_memory() {
  return std::min(available_on_machine(), left_by_control_group());
}

}  // namespace rueda
