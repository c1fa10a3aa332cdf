#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rueda {

/// The processors (hardware threads) that the operating system lets a process use; 0: this one.
std::vector<int> allowed_cores(int process = 0);
/// Cores that are online on this machine, allowed or not.
int online_cores();
/// The number after `name` in a file of names and numbers, one a line; 0 where there is none.
std::size_t number_after(const std::filesystem::path& file, std::string_view name);
/// The processors in a file that lists them as "0-3,8"; a part that is none is left out.
std::vector<int> processors_in(const std::filesystem::path& file);

/// The processors of each core, in the order of the topology: neighbours share
/// caches and memory.
using CoreList = std::vector<std::vector<int>>;
/// Those of this machine, or of the one that hwloc's HWLOC_SYNTHETIC describes.
CoreList machine_cores();
/// A list of processors for each local rank.
using ProcessorLists = std::vector<std::vector<int>>;
/// The processors of local rank `local`: of the `allowed` ones an equal number of whole `cores`.
/// Ranks first share evenly the cores that are `near` them, which are other cores or the same as
/// another rank's, or none; the rest follows in the topology's order. Empty where there are more
/// ranks than cores.
std::vector<int> rank_share(CoreList cores, const std::vector<int>& allowed,
                            const ProcessorLists& near, std::size_t local);
/// Whether some core serves two ranks that may use different processors, `a` and `b`.
bool share_a_core(const CoreList& cores, const std::vector<int>& a, const std::vector<int>& b);

/// Whether the environment or the command line of a launch by Open MPI, of
/// words that end in zeros, asks where on a node the ranks are to be.
bool asks_for_binding(std::string launch);
/// Where Open MPI has bound this process by its own default, which for two
/// ranks is a single core each, gives it its share of the cores that Open MPI
/// may use, and starts the program anew with these `arguments`. What somebody
/// asked for stays. Before anything else in main().
void widen_default_binding(char** arguments);
/// Whether it did.
bool has_own_binding();
/// Calls this thread, and so the process, as `path` ends: the name by which ps,
/// top and pkill know it. A program started by way of /proc/self/exe is "exe" to them.
void take_program_name(const char* path);

/// How the ranks of one node share its cores.
struct NodeCores {
  std::vector<std::vector<int>> allowed;  ///< by local rank
  int online = 1;
  double quota = 0;      ///< of all local ranks together: cores' worth of time; 0: no limit
  bool launched = true;  ///< by a launcher, which may bind ranks to cores
  CoreList cores = {};   ///< of the node; empty: unknown
};

/// The share of the node's cores of local rank `local`: each core that it may
/// use, divided by the number of local ranks that may use it too, within the
/// quota.
double core_share(const NodeCores& node, std::size_t local);

/// Threads for a local rank, and a remark on them for the user.
struct ThreadChoice {
  int threads = 1;
  std::string remark;  ///< empty, or one line with the option to add
};

/// `requested` threads; if that is 0, as many as the rank's share has whole
/// cores (at least one). Remarks on threads beyond the cores that the launcher
/// gave, on cores that the launcher leaves idle, and on ranks that share cores.
ThreadChoice choose_threads(const NodeCores& node, std::size_t local, int requested);

/// Bytes of this machine's memory that programs can still take without
/// swapping, within the limits of this process's control groups; 0 if the system
/// does not report it.
std::size_t available_host_memory();

}  // namespace rueda
