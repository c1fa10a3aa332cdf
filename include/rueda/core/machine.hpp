#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace rueda {

/// The processor cores that the operating system lets this process use.
std::vector<int> allowed_cores();
/// Cores that are online on this machine, allowed or not.
int online_cores();
/// Cores' worth of time that the control group of this process may use; 0: no limit, or none known.
double cpu_quota();

/// How the ranks of one node share its cores.
struct NodeCores {
  std::vector<std::vector<int>> allowed;  ///< by local rank
  int online = 1;
  double quota = 0;      ///< of all local ranks together, as `cpu_quota` says
  bool launched = true;  ///< by a launcher, which may bind ranks to cores
};

/// Cores that local rank `local` may count as its own: each core it may use, divided by the number
/// of local ranks that may use it too, within the quota.
double core_share(const NodeCores& node, std::size_t local);

/// Threads for a local rank, and what its user should know about them.
struct ThreadChoice {
  int threads = 1;
  std::string remark;  ///< empty, or one line with the option to add
};

/// `requested` threads, or if that is 0 the whole cores of the rank's share (at least one). Remarks
/// on more threads than the launcher bound the rank to, on cores that the launcher leaves idle, and
/// on ranks that share cores.
ThreadChoice choose_threads(const NodeCores& node, std::size_t local, int requested);

/// Bytes of this machine's memory that programs can still take without swapping, within what the
/// control group of this process leaves; 0 if the system does not tell.
std::size_t available_host_memory();

using SteadyTime = std::chrono::steady_clock::time_point;

/// Seconds on this machine's steady clock, whose zero is its own.
inline double steady_seconds(SteadyTime time = std::chrono::steady_clock::now()) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace rueda
