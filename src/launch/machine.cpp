#include "launch/machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <regex>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/core_time.hpp"
#include "base/split.hpp"
#include "base/start_thread.hpp"
#include "base/text.hpp"
#include "launch/control_group.hpp"
#include "launch/gpu_place.hpp"
#include "launch/settings.hpp"

namespace rueda {
namespace {

std::size_t usable_cores(const NodeCores& node) {
  std::set<int> all;
  for (const auto& cores : node.allowed) all.insert(cores.begin(), cores.end());
  if (node.quota <= 0) return all.size();
  return std::clamp<std::size_t>(std::size_t(node.quota), 1, all.size());
}

/// Whether a rank that is bound otherwise may use one of its cores, too.
bool shares_cores(const NodeCores& node, std::size_t local) {
  for (const auto& other : node.allowed)
    if (share_a_core(node.cores, node.allowed[local], other)) return true;
  return false;
}

std::string remark_on(const NodeCores& node, std::size_t local, std::size_t threads) {
  const std::string bound = counted(node.allowed[local].size(), "core");
  const std::string wanted = counted(threads, "thread");
  const std::size_t usable = usable_cores(node);
  const std::size_t ranks = node.allowed.size();
  if (threads > node.allowed[local].size()) {
    if (!node.launched)
      return fmt::format("may use {} but runs {}: lower --threads", bound, wanted);
    return fmt::format(
        "bound to {} by its launcher, or by taskset, but runs {}: add --bind-to none (mpirun) or "
        "--cpus-per-task {} (srun), or lower --threads",
        bound, wanted, threads);
  }
  if (ranks * threads > usable) {
    return fmt::format(
        "shares {} with {} of {}: oversubscribed, so its timings do not show scaling; use "
        "fewer ranks or --threads",
        counted(usable, "core"), counted(ranks, "rank"), wanted);
  }
  if (shares_cores(node, local))
    return "shares cores, or hardware threads of one core, with a rank that is bound otherwise: "
           "bind to whole cores (mpirun --bind-to core, srun --hint=nomultithread)";
  const auto online = std::size_t(node.online);
  if (!node.launched || node.quota > 0 || usable >= online) return "";
  return fmt::format(
      "the launcher, or taskset, leaves {} of this node unused: add --bind-to none (mpirun) or "
      "--cpus-per-task (srun), or leave taskset out",
      counted(online - usable, "core"));
}

/// Those of `cores` near a rank that it has before the rest is shared out: an even part of them
/// among the ranks that they are near, and not more than its share.
CoreList near_cores(const CoreList& cores, const ProcessorLists& near, std::size_t rank) {
  const auto own = near.begin() + std::ptrdiff_t(rank);
  CoreList domain;
  for (const auto& core : cores)
    if (std::ranges::find_first_of(core, *own) != core.end()) domain.push_back(core);
  const auto before = std::size_t(std::count(near.begin(), own, *own));
  const auto sharers = std::size_t(std::ranges::count(near, *own));
  const auto part = cut(std::span(domain), even_split(domain.size(), sharers, before));
  const std::size_t most = even_split(cores.size(), near.size(), rank).size();
  return {part.begin(), part.begin() + std::ptrdiff_t(std::min(part.size(), most))};
}

/// The words in these files of /proc, each with a zero at its end; none where one is unreadable.
std::optional<std::string> process_words(const std::vector<std::string>& files) {
  std::ostringstream words;
  for (const std::string& file : files) words << std::ifstream("/proc/" + file).rdbuf();
  if (!words) return std::nullopt;
  return words.str();
}

}  // namespace

std::vector<int> allowed_cores(int process) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  const bool known = sched_getaffinity(process, sizeof set, &set) == 0;
  for (int c = 0; known && c < CPU_SETSIZE; ++c)
    if (CPU_ISSET(std::size_t(c), &set)) cores.push_back(c);
  if (cores.empty()) cores.push_back(0);
  return cores;
}

CoreList machine_cores() {
  CoreList cores;
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0 || hwloc_topology_load(topology) != 0) return cores;
  const int depth = hwloc_get_type_or_below_depth(topology, HWLOC_OBJ_CORE);
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_depth(topology, depth, core)) != nullptr) {
    cores.emplace_back();
    for (int at = -1; (at = hwloc_bitmap_next(core->cpuset, at)) >= 0;) cores.back().push_back(at);
  }
  hwloc_topology_destroy(topology);
  return cores;
}

std::vector<int> rank_share(CoreList cores, const std::vector<int>& allowed,
                            const ProcessorLists& near, std::size_t local) {
  for (auto& core : cores)
    std::erase_if(core, [&](int processor) { return std::ranges::count(allowed, processor) == 0; });
  std::erase(cores, std::vector<int>{});
  const std::size_t ranks = near.size();
  if (cores.size() < ranks) return {};
  CoreList rest = cores;
  std::vector<CoreList> shares(ranks);
  std::vector<std::size_t> places(ranks);  // in the topology
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const auto& core : near_cores(cores, near, rank))
      if (std::erase(rest, core) > 0) shares[rank].push_back(core);
    const auto first =
        shares[rank].empty() ? cores.end() : std::ranges::find(cores, shares[rank][0]);
    places[rank] = std::size_t(first - cores.begin());
  }
  std::vector<std::size_t> order(ranks);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t rank) { return places[rank]; });
  auto next = rest.begin();
  for (const std::size_t rank : order) {
    const std::size_t wanted = even_split(cores.size(), ranks, rank).size();
    while (shares[rank].size() < wanted) shares[rank].push_back(*next++);
  }
  std::vector<int> share;
  for (const auto& core : shares[local]) share.insert(share.end(), core.begin(), core.end());
  std::ranges::sort(share);
  return share;
}

bool share_a_core(const CoreList& cores, const std::vector<int>& a, const std::vector<int>& b) {
  if (a == b) return false;
  for (const std::vector<int>& core : cores) {
    const bool of_a = std::ranges::find_first_of(core, a) != core.end();
    if (of_a && std::ranges::find_first_of(core, b) != core.end()) return true;
  }
  return false;
}

bool asks_for_binding(std::string launch) {
  std::ranges::replace(launch, '\0', '\n');  // which a pattern can hold
  // Mapping to nodes or slots says nothing of cores; to anything smaller it does.
  static const std::regex wish(
      "bind[-_]to|binding_policy|base_cpu_|-cpu-(set|list)|rank_?file|-rf\n|cpus_per_|:pe[-=]|"
      "(mapping_policy=|map-by[\n=])(?!(slot|node|ppr:[0-9]+:node)?[:\n])",
      std::regex::icase);
  return std::regex_search(launch, wish);
}

void take_program_name(const char* path) {
  const std::string name = std::filesystem::path(path).filename();
  if (!name.empty()) prctl(PR_SET_NAME, name.c_str());  // which takes the first 15 characters
}

/// A whole number that the launcher gave; nothing where it is anything else.
std::optional<std::size_t> number_in_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  std::string_view rest = value;
  const auto number = take_number(rest);
  if (!rest.empty()) return std::nullopt;
  return number;
}

bool has_own_binding() { return std::getenv("RUEDA_BINDING") != nullptr; }

void widen_default_binding(char** arguments) {
  const auto ranks = number_in_environment("OMPI_COMM_WORLD_LOCAL_SIZE");
  const auto all_ranks = number_in_environment("OMPI_COMM_WORLD_SIZE");
  const auto local = number_in_environment("OMPI_COMM_WORLD_LOCAL_RANK");
  const char* command = std::getenv("OMPI_COMMAND");
  if (!ranks || !all_ranks || !local || *local >= *ranks) return;  // half an environment
  if (command == nullptr || arguments[0] == nullptr || has_own_binding()) return;
  // Where Open MPI started another program, that one may have bound this one.
  using std::filesystem::path;
  if (path(command).filename() != path(arguments[0]).filename()) return;
  // The settings of Open MPI 4 reach all its ranks. Those of Open MPI 5 only
  // mpirun has, the parent of its ranks where there is one host.
  const bool one_host = *ranks == *all_ranks;
  if (!one_host && std::getenv("PRTE_LAUNCHED") != nullptr) return;
  const std::vector<int> mine = allowed_cores(), daemons = allowed_cores(getppid());
  if (mine.size() >= daemons.size()) return;
  const std::string parent = std::to_string(getppid());
  const auto daemons_words = process_words({parent + "/environ", parent + "/cmdline"});
  const auto own_arguments = process_words({"self/cmdline"});
  auto launch = process_words({"self/environ"});
  if (!daemons_words || !own_arguments || !launch) return;
  *launch += *daemons_words;
  for (const auto& one : file_settings(environment_variable, setting_files(environment_variable)))
    *launch += one.name + '=' + one.value + '\0';
  if (asks_for_binding(*launch)) return;
  const auto near = RUEDA_WITH_CUDA ? near_gpus("/", *daemons_words + *own_arguments, *ranks)
                                    : ProcessorLists(*ranks);
  const auto share = rank_share(machine_cores(), daemons, near, *local);
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : share) CPU_SET(std::size_t(processor), &set);
  if (share.empty() || sched_setaffinity(0, sizeof set, &set) != 0) return;
  setenv("RUEDA_BINDING", "share", 1);
  // Anew, because OpenMP has counted its cores already: threads that outnumber
  // them sleep at barriers. Where the system refuses, this is only slower.
  if (share != mine) execv("/proc/self/exe", arguments);
}

int online_cores() { return int(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))); }

std::size_t number_after(const std::filesystem::path& file, std::string_view name) {
  std::ifstream lines(file);
  std::string word, unit;
  for (std::size_t number = 0; lines >> word >> number; std::getline(lines, unit))
    if (word == name) return number;
  return 0;
}

std::vector<int> processors_in(const std::filesystem::path& file) {
  constexpr std::size_t kMost = 1 << 16;  // more than Linux can have, so that no range is endless
  std::ifstream stream(file);
  std::vector<int> processors;
  for (std::string part; std::getline(stream, part, ',');) {
    std::string_view rest = part;
    const auto first = take_number(rest);
    auto last = first;
    if (take(rest, "-")) last = take_number(rest);
    if (!first || !last || *last >= kMost) continue;
    for (std::size_t at = *first; at <= *last; ++at) processors.push_back(int(at));
  }
  return processors;
}

double core_share(const NodeCores& node, std::size_t local) {
  double share = 0;
  for (const int core : node.allowed[local]) {
    int sharers = 0;
    for (const auto& cores : node.allowed)
      if (std::ranges::count(cores, core) > 0) ++sharers;
    share += 1.0 / sharers;
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

CoreTime busy_core_time(int threads, double seconds) {
  std::vector<double> got(std::size_t(std::max(threads, 1)));
  const Stopwatch watch;
  {
    std::vector<std::jthread> team;
    for (double& mine : got) {
      team.push_back(make_thread("a look at the cores", [&mine, &watch, seconds] {
        while (watch.seconds() < seconds) continue;
        timespec used{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        mine = double(used.tv_sec) + 1e-9 * double(used.tv_nsec);
      }));
    }
  }
  const double wanted = watch.seconds() * double(got.size());
  return {std::accumulate(got.begin(), got.end(), 0.0), wanted};
}

std::size_t available_host_memory() {
  return std::min(1024 * number_after("/proc/meminfo", "MemAvailable:"),
                  control_group_limits().memory_left);
}

}  // namespace rueda
