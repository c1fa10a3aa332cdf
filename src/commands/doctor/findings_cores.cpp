#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>

#include <spdlog/fmt/fmt.h>

#include "findings.hpp"
#include "rueda/display/number_text.hpp"

namespace rueda::doctor {
namespace {

/// The cores of a host and of its ranks.
struct HostCores {
  std::string host;
  std::vector<const RankFacts*> ranks;
  std::size_t usable = 0;  ///< by any of the ranks
  std::size_t online = 1;
  double quota = 0;
  bool slurm = false;

  HostCores(std::string name, std::vector<const RankFacts*> of)
      : host(std::move(name)), ranks(std::move(of)) {
    std::set<int> all;
    for (const RankFacts* r : ranks) all.insert(r->cores.allowed.begin(), r->cores.allowed.end());
    usable = all.size();
    online = static_cast<std::size_t>(ranks.front()->cores.online);
    quota = ranks.front()->cores.quota;
    slurm = ranks.front()->launch.launcher == "srun";
  }
};

bool overlap(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return !common.empty() && a != b;
}

/// Options that give each rank of the host its own equal part of the host's cores.
std::string own_cores(const HostCores& cores) {
  const auto each = std::max<std::size_t>(1, cores.online / cores.ranks.size());
  return cores.slurm ? fmt::format(
                           "#SBATCH --cpus-per-task={0}  and  srun --cpus-per-task={0} "
                           "--cpu-bind=cores",
                           each)
                     : fmt::format("mpirun --map-by slot:PE={} --bind-to core", each);
}

std::string more_cores(const HostCores& cores) {
  return cores.slurm ? own_cores(cores) : "mpirun --bind-to none";
}

using Remark = std::optional<std::pair<std::string, std::string>>;  // what, and what to change

Remark find_overlap(const HostCores& cores) {
  for (const RankFacts* a : cores.ranks) {
    for (const RankFacts* b : cores.ranks) {
      if (!overlap(a->cores.allowed, b->cores.allowed)) continue;
      return {{fmt::format("bindings of ranks on {} overlap: they share some cores and not others, "
                           "so that some wait for others",
                           cores.host),
               own_cores(cores)}};
    }
  }
  return {};
}

Remark find_crowded(const HostCores& cores) {
  // Shares are sums of fractions: a little less than a whole core counts as one.
  const auto pressed = [](const RankFacts* rank) { return rank->cores.share < 1 - 1e-9; };
  if (std::none_of(cores.ranks.begin(), cores.ranks.end(), pressed)) return {};
  const std::size_t count = cores.ranks.size();
  const std::string fewer =
      cores.slurm ? "#SBATCH --ntasks-per-node=... with fewer tasks, or more --cpus-per-task"
                  : "mpirun with fewer ranks on the host (-n, or --map-by ppr:N:node)";
  return {{fmt::format("{} on {} have fewer than {} whole cores ({} allowed{}): timings will not "
                       "show scaling",
                       counted(count, "rank"), cores.host, count, cores.usable,
                       cores.quota > 0 ? fmt::format(", a quota of {:.3g}", cores.quota) : ""),
           cores.online >= count && cores.usable < cores.online ? more_cores(cores) : fewer}};
}

Remark find_unused(const HostCores& cores) {
  const bool launched = cores.ranks.front()->launch.launcher != "none";
  if (!launched || cores.usable >= cores.online || cores.quota > 0) return {};
  return {{fmt::format("{} on {} may use {} of its {} cores", counted(cores.ranks.size(), "rank"),
                       cores.host, cores.usable, cores.online),
           more_cores(cores)}};
}

constexpr std::array kRules = {find_overlap, find_crowded, find_unused};

}  // namespace

/// The first rule that applies to a host; each is reported for one host, and counted for others.
void find_in_cores(const ClusterFacts& cluster, Findings& findings) {
  std::array<std::vector<Finding>, kRules.size()> found;
  for (const auto& [host, ranks] : ranks_by_host(cluster.ranks)) {
    const HostCores cores(host, ranks);
    for (std::size_t i = 0; i < kRules.size(); ++i) {
      const Remark remark = kRules[i](cores);
      if (!remark) continue;
      found[i].push_back({Severity::remark, remark->first, remark->second});
      break;
    }
  }
  for (auto& of_rule : found) {
    if (of_rule.empty()) continue;
    Finding& first = of_rule.front();
    const std::size_t others = of_rule.size() - 1;
    if (others > 0) first.what += " (and so on " + counted(others, "other host") + ")";
    findings.push_back(std::move(first));
  }
}

}  // namespace rueda::doctor
