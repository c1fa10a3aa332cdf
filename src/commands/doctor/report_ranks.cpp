#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "rank_rows.hpp"
#include "rank_sets.hpp"
#include "report.hpp"
#include "rueda/display/number_text.hpp"
#include "rueda/display/text_table.hpp"

namespace rueda::doctor {
namespace {

constexpr std::size_t kLabel = 14;

std::string launcher_text(const RankFacts& first, std::size_t hosts) {
  const LaunchFacts& launch = first.launch;
  const std::string world =
      fmt::format("MPI's world: {} on {}", counted(static_cast<std::size_t>(first.size), "rank"),
                  counted(hosts, "host"));
  if (launch.launcher == "none") return "none (one process); " + world;
  return fmt::format("{}, {} {} ({}); {}", launch.launcher, launch.told_size,
                     launch.told_size == 1 ? "process" : "processes", launch.told_by, world);
}

std::string slurm_text(const LaunchFacts& launch) {
  if (!launch.in_slurm) return "not inside an allocation";
  std::string text =
      fmt::format("{}, {}", counted(static_cast<std::size_t>(launch.slurm_nodes), "node"),
                  counted(static_cast<std::size_t>(launch.slurm_tasks), "task"));
  if (launch.slurm_cpus_per_task > 0) {
    text += fmt::format(", {} cores a task", launch.slurm_cpus_per_task);
  }
  return text + (launch.slurm_gpus.empty() ? ", no GPUs asked for" : ", " + launch.slurm_gpus);
}

std::string versions_text(const RankFacts& rank) {
  std::string text;
  for (const auto& [name, version] : rank.versions) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", name, version);
  }
  if (rank.device.cudnn_compiled.empty()) return text;
  return text + " (compiled with " + rank.device.cudnn_compiled + ")";
}

/// Where ranks share lines, the numbers that occur on the host.
std::string local_text(const RankFacts& rank, bool shares_line) {
  if (!shares_line) return std::to_string(rank.local_rank);
  return fmt::format("0-{}", rank.local_size - 1);
}

std::string cores_text(const CoreFacts& cores) {
  const bool all = cores.allowed.size() == static_cast<std::size_t>(cores.online);
  std::string text = fmt::format("{} of {}{}", ranges_text(cores.allowed), cores.online,
                                 all ? ", not bound" : ", bound");
  if (cores.quota > 0) text += fmt::format(", quota of {:.3g}", cores.quota);
  return text;
}

}  // namespace

std::string launch_section(const RankFacts& first, std::size_t hosts) {
  return "Launch\n" + paragraph("  launcher", kLabel, launcher_text(first, hosts)) +
         paragraph("  Slurm", kLabel, slurm_text(first.launch)) +
         paragraph("  versions", kLabel, versions_text(first));
}

std::string ranks_section(const ClusterFacts& cluster) {
  std::vector<RankRow> rows;
  const bool many = cluster.ranks.size() > kMostLines;
  for (const RankFacts& rank : cluster.ranks) {
    rows.push_back(
        {rank.rank,
         {short_host(rank.host), local_text(rank, many), std::to_string(rank.cores.threads),
          fmt::format("{:.3g}", rank.cores.share), cores_text(rank.cores)}});
  }
  return "\nRanks (threads that training would run, cores of a rank's own, cores allowed)\n" +
         rank_table({"host", "local", "threads", "cores", "allowed"},
                    {Align::left, Align::right, Align::right, Align::right, Align::left}, rows);
}

}  // namespace rueda::doctor
