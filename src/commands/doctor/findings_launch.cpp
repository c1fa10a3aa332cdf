#include <spdlog/fmt/fmt.h>

#include "findings.hpp"
#include "rank_sets.hpp"

namespace rueda::doctor {
namespace {

/// How this run was started, with `words` among its options.
std::string start_line(const RankFacts& rank, const std::string& words) {
  const bool slurm = rank.launch.launcher == "srun";
  return fmt::format("{} {} rueda train ...", slurm ? "srun" : "mpirun", words);
}

std::string remedy_for_singletons(const LaunchFacts& launch) {
  if (launch.launcher == "srun") {
    return fmt::format(
        "srun --mpi=pmix -n {} rueda train ...  (srun --mpi=list shows the kinds "
        "that this Slurm offers)",
        launch.told_size);
  }
  return fmt::format(
      "module load the MPI that rueda is linked with (rueda --version names it), and "
      "start with its own mpirun -n {}; in Slurm also srun --mpi=pmix",
      launch.told_size);
}

void find_singletons(const RankFacts& rank, Findings& findings) {
  const LaunchFacts& launch = rank.launch;
  if (launch.refusal.empty()) return;
  findings.push_back(
      {Severity::fault,
       fmt::format("{} started {} processes ({}={}), but MPI sees a world of {}: launcher and MPI "
                   "library do not know each other, and each process would train alone",
                   launch.launcher, launch.told_size, launch.told_by, launch.told_size, rank.size),
       remedy_for_singletons(launch)});
}

void find_unused_allocation(const ClusterFacts& cluster, Findings& findings) {
  const RankFacts& first = cluster.ranks.front();
  const LaunchFacts& launch = first.launch;
  if (!launch.in_slurm || !launch.refusal.empty()) return;
  const auto hosts = static_cast<int>(ranks_by_host(cluster.ranks).size());
  if (launch.slurm_nodes > hosts) {
    findings.push_back(
        {Severity::remark,
         fmt::format("the allocation has {} nodes, but the ranks are on {}", launch.slurm_nodes,
                     hosts),
         start_line(first, launch.launcher == "srun" ? fmt::format("--nodes={}", launch.slurm_nodes)
                                                     : "--map-by node")});
  } else if (launch.slurm_tasks > first.size) {
    findings.push_back({Severity::remark,
                        fmt::format("the allocation is for {} tasks (SLURM_NTASKS), but this run "
                                    "has {}",
                                    launch.slurm_tasks, first.size),
                        start_line(first, fmt::format("-n {}", launch.slurm_tasks))});
  }
}

}  // namespace

void find_in_launch(const ClusterFacts& cluster, Findings& findings) {
  if (cluster.ranks.empty()) return;
  find_singletons(cluster.ranks.front(), findings);
  find_unused_allocation(cluster, findings);
}

}  // namespace rueda::doctor
