#include <algorithm>
#include <iterator>
#include <set>

#include <spdlog/fmt/fmt.h>

#include "findings.hpp"
#include "rueda/display/number_text.hpp"

namespace rueda::doctor {
namespace {

using HostRanks = std::vector<const RankFacts*>;

/// What can be wrong with the cores of the ranks of a host.
enum class CoreFault { none, overlap, crowded, unused };

bool overlap(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return !common.empty() && a != b;
}

bool any_overlap(const HostRanks& ranks) {
  for (const RankFacts* a : ranks) {
    for (const RankFacts* b : ranks) {
      if (overlap(a->cores.allowed, b->cores.allowed)) return true;
    }
  }
  return false;
}

std::size_t usable(const HostRanks& ranks) {
  std::set<int> all;
  for (const RankFacts* rank : ranks) {
    all.insert(rank->cores.allowed.begin(), rank->cores.allowed.end());
  }
  return all.size();
}

CoreFault judge(const HostRanks& ranks) {
  const CoreFacts& cores = ranks.front()->cores;
  if (any_overlap(ranks)) return CoreFault::overlap;
  // Shares are sums of fractions: a little less than a whole core counts as one.
  const auto pressed = [](const RankFacts* rank) { return rank->cores.share < 1 - 1e-9; };
  if (std::any_of(ranks.begin(), ranks.end(), pressed)) return CoreFault::crowded;
  const bool launched = ranks.front()->launch.launcher != "none";
  const bool left = usable(ranks) < static_cast<std::size_t>(cores.online);
  return launched && left && cores.quota <= 0 ? CoreFault::unused : CoreFault::none;
}

/// Options that give each rank of the host its own equal part of the host's cores.
std::string own_cores(const HostRanks& ranks) {
  const auto each = std::max<std::size_t>(
      1, static_cast<std::size_t>(ranks.front()->cores.online) / ranks.size());
  if (ranks.front()->launch.launcher == "srun") {
    return fmt::format("#SBATCH --cpus-per-task={}  and  srun --cpus-per-task={} --cpu-bind=cores",
                       each, each);
  }
  return fmt::format("mpirun --map-by slot:PE={} --bind-to core", each);
}

std::string describe(CoreFault fault, const std::string& host, const HostRanks& ranks) {
  const std::string count = counted(ranks.size(), "rank");
  switch (fault) {
    case CoreFault::overlap:
      return fmt::format(
          "bindings of ranks on {} overlap: they share some cores and not others, so that some "
          "wait for others",
          host);
    case CoreFault::crowded:
      return fmt::format(
          "{} on {} have fewer than {} whole cores ({} allowed{}): timings will not show scaling",
          count, host, ranks.size(), usable(ranks),
          ranks.front()->cores.quota > 0
              ? fmt::format(", a quota of {:.3g}", ranks.front()->cores.quota)
              : "");
    default:
      return fmt::format("{} on {} may use {} of its {} cores", count, host, usable(ranks),
                         ranks.front()->cores.online);
  }
}

std::string remedy(CoreFault fault, const HostRanks& ranks) {
  const bool slurm = ranks.front()->launch.launcher == "srun";
  const bool has_more = static_cast<std::size_t>(ranks.front()->cores.online) >= ranks.size() &&
                        usable(ranks) < static_cast<std::size_t>(ranks.front()->cores.online);
  if (fault == CoreFault::overlap) return own_cores(ranks);
  if (fault == CoreFault::crowded && !has_more) {
    return slurm ? "#SBATCH --ntasks-per-node=... with fewer tasks, or more --cpus-per-task"
                 : "mpirun with fewer ranks on the host (-n, or --map-by ppr:N:node)";
  }
  return slurm ? own_cores(ranks) : "mpirun --bind-to none";
}

}  // namespace

void find_in_cores(const ClusterFacts& cluster, Findings& findings) {
  std::map<CoreFault, std::size_t> hosts_with;
  std::map<CoreFault, Finding> first;
  for (const auto& [host, ranks] : ranks_by_host(cluster.ranks)) {
    const CoreFault fault = judge(ranks);
    if (fault == CoreFault::none || hosts_with[fault]++ > 0) continue;
    first[fault] = {Severity::remark, describe(fault, host, ranks), remedy(fault, ranks)};
  }
  for (auto& [fault, finding] : first) {
    const std::size_t others = hosts_with[fault] - 1;
    if (others > 0) finding.what += " (and so on " + counted(others, "other host") + ")";
    findings.push_back(std::move(finding));
  }
}

}  // namespace rueda::doctor
