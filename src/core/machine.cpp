#include "rueda/core/machine.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

namespace rueda {
namespace {

std::string count(std::size_t n, const char* thing) {
  return fmt::format("{} {}{}", n, thing, n == 1 ? "" : "s");
}

std::size_t usable_cores(const NodeCores& node) {
  std::set<int> all;
  for (const auto& cores : node.allowed) all.insert(cores.begin(), cores.end());
  if (node.quota <= 0) return all.size();
  return std::clamp<std::size_t>(std::size_t(node.quota), 1, all.size());
}

std::string remark_on(const NodeCores& node, std::size_t local, std::size_t threads) {
  const std::string bound = count(node.allowed[local].size(), "core");
  const std::string wanted = count(threads, "thread");
  const std::size_t usable = usable_cores(node);
  const std::size_t ranks = node.allowed.size();
  if (threads > node.allowed[local].size()) {
    if (!node.launched)
      return fmt::format("may use {} but runs {}: lower --threads", bound, wanted);
    return fmt::format(
        "bound to {} by its launcher but runs {}: add --bind-to none (mpirun) or --cpus-per-task "
        "{} (srun)",
        bound, wanted, threads);
  }
  if (ranks * threads > usable) {
    return fmt::format(
        "shares {} with {} ranks of {}: oversubscribed, so its timings do not show scaling; use "
        "fewer ranks or --threads",
        count(usable, "core"), ranks, wanted);
  }
  const auto online = std::size_t(node.online);
  if (!node.launched || node.quota > 0 || usable >= online) return "";
  return fmt::format(
      "the launcher leaves {} of this node unused: add --bind-to none (mpirun) or --cpus-per-task "
      "(srun) to use them",
      count(online - usable, "core"));
}

/// The number after `name` in a file of names and numbers, one a line; 0 where there is none.
std::size_t number_in(const char* file, std::string_view name) {
  std::ifstream lines(file);
  std::string word, unit;
  for (std::size_t number = 0; lines >> word >> number; std::getline(lines, unit))
    if (word == name) return number;
  return 0;
}

/// A limit is a number or the word "max", which reads as no number.
std::size_t left_by_control_group() {
  std::ifstream limit_file("/sys/fs/cgroup/memory.max");
  std::ifstream used_file("/sys/fs/cgroup/memory.current");
  std::size_t limit = 0;
  std::size_t used = 0;
  if (!(limit_file >> limit) || !(used_file >> used)) return SIZE_MAX;
  // Pages of files count as used, although the kernel frees them when a program needs memory.
  used -= std::min(used, number_in("/sys/fs/cgroup/memory.stat", "inactive_file"));
  return limit > used ? limit - used : 0;
}

}  // namespace

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
  for (int c = 0; known && c < CPU_SETSIZE; ++c)
    if (CPU_ISSET(std::size_t(c), &set)) cores.push_back(c);
  if (cores.empty()) cores.push_back(0);
  return cores;
}

int online_cores() { return int(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))); }

double cpu_quota() {
  std::ifstream limit("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  return limit >> quota >> period && period > 0 ? quota / period : 0;
}

double core_share(const NodeCores& node, std::size_t local) {
  double share = 0;
  for (const int core : node.allowed[local]) {
    const auto sharers = std::ranges::count_if(
        node.allowed, [core](auto& cores) { return std::ranges::count(cores, core) > 0; });
    share += 1.0 / double(sharers);
  }
  if (node.quota <= 0) return share;
  return std::min(share, node.quota / double(node.allowed.size()));
}

ThreadChoice choose_threads(const NodeCores& node, std::size_t local, int requested) {
  ThreadChoice choice;
  // A hair more than the sum of thirds, so that 3 x 1/3 counts as a whole core.
  const double share = core_share(node, local) + 1e-9;
  choice.threads = requested > 0 ? requested : std::max(1, int(share));
  choice.remark = remark_on(node, local, std::size_t(choice.threads));
  return choice;
}

bool stops_within(const std::stop_token& stop, double seconds) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  return std::condition_variable_any().wait_for(lock, stop, std::chrono::duration<double>(seconds),
                                                [&stop] { return stop.stop_requested(); });
}

std::size_t available_host_memory() {
  return std::min(1024 * number_in("/proc/meminfo", "MemAvailable:"), left_by_control_group());
}

}  // namespace rueda
