#include "findings.hpp"

#include <algorithm>
#include <set>

#include <spdlog/fmt/fmt.h>

#include "rank_sets.hpp"

namespace rueda::doctor {
namespace {

std::string version_of(const RankFacts& rank, const std::string& component) {
  for (const auto& [name, version] : rank.versions) {
    if (name == component) return version;
  }
  return "not there";
}

std::set<std::string> components(const std::vector<RankFacts>& ranks) {
  std::set<std::string> names;
  for (const RankFacts& rank : ranks) {
    for (const auto& entry : rank.versions) names.insert(entry.first);
  }
  return names;
}

}  // namespace

Findings all_findings(const ClusterFacts& cluster) {
  Findings findings;
  find_in_progress(cluster, findings);
  find_in_launch(cluster, findings);
  find_in_versions(cluster, findings);
  find_in_devices(cluster, findings);
  find_in_transfers(cluster, findings);
  find_in_data(cluster, findings);
  find_in_cores(cluster, findings);
  std::stable_partition(findings.begin(), findings.end(),
                        [](const Finding& f) { return f.severity == Severity::fault; });
  return findings;
}

bool works(const Findings& findings) {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& f) { return f.severity == Severity::fault; });
}

std::string verdict(const Findings& findings) {
  if (!works(findings)) return "will not work";
  return findings.empty() ? "ok" : "works with remarks";
}

void find_in_progress(const ClusterFacts& cluster, Findings& findings) {
  const Progress& progress = cluster.progress;
  if (progress.trouble.empty()) return;
  const LaunchFacts launch = cluster.ranks.empty() ? LaunchFacts() : cluster.ranks[0].launch;
  const bool never_met = progress.step == kStartStep && launch.launcher == "srun";
  findings.push_back(
      {Severity::fault,
       fmt::format("the step \"{}\" {}{}", progress.step, progress.trouble,
                   launch.told_size > 1 ? "; ranks that failed by themselves say so above" : ""),
       never_met ? fmt::format("srun --mpi=pmix -n {} rueda doctor  (srun --mpi=list shows the "
                               "kinds that this Slurm offers)",
                               launch.told_size)
                 : "mpirun -n 2 rueda doctor  on one host first; if it is only slow: rueda doctor "
                   "--timeout 600"});
}

void find_in_versions(const ClusterFacts& cluster, Findings& findings) {
  for (const std::string& name : components(cluster.ranks)) {
    const auto versions =
        ranks_by(cluster.ranks, [&](const RankFacts& rank) { return version_of(rank, name); });
    if (versions.size() < 2) continue;
    std::string text;
    for (const auto& [version, ranks] : versions) {
      text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", version,
                          ranks_text(ranks, cluster.ranks.size()));
    }
    findings.push_back({Severity::fault,
                        fmt::format("versions of {} differ between ranks: {}", name, text),
                        "start the same program everywhere: a path on a file system that all hosts "
                        "share, and the same modules in the job script"});
  }
}

}  // namespace rueda::doctor
