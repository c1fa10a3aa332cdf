#include "findings.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include <spdlog/fmt/fmt.h>

#include "rueda/data/dataset.hpp"

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

/// How this run was started, with `words` among its options.
std::string start_line(const RankFacts& rank, const std::string& words) {
  const bool slurm = rank.launch.launcher == "srun";
  return fmt::format("{} {} rueda train ...", slurm ? "srun" : "mpirun", words);
}

std::string remedy_for_singletons(const LaunchFacts& launch) {
  if (launch.launcher == "srun") {
    return fmt::format(
        "srun --mpi=pmix -n {} rueda train ...  (srun --mpi=list shows the kinds that this Slurm "
        "offers)",
        launch.told_size);
  }
  return fmt::format(
      "module load the MPI that rueda is linked with (rueda --version names it), and start with "
      "its own mpirun -n {}; in Slurm also srun --mpi=pmix",
      launch.told_size);
}

void find_singletons(const RankFacts& rank, Findings& findings) {
  const LaunchFacts& launch = rank.launch;
  if (launch.refusal.empty()) return;
  add(findings, Severity::fault,
      fmt::format("{} started {} processes ({}={}), but MPI sees a world of {}: launcher and MPI "
                  "library do not know each other, and each process would train alone",
                  launch.launcher, launch.told_size, launch.told_by, launch.told_size, rank.size),
      remedy_for_singletons(launch));
}

void find_unused_allocation(const ClusterFacts& cluster, Findings& findings) {
  const RankFacts& first = cluster.ranks.front();
  const LaunchFacts& launch = first.launch;
  if (!launch.in_slurm || !launch.refusal.empty()) return;
  const auto hosts = static_cast<int>(ranks_by_host(cluster.ranks).size());
  if (launch.slurm_nodes > hosts) {
    add(findings, Severity::remark,
        fmt::format("the allocation has {} nodes, but the ranks are on {}", launch.slurm_nodes,
                    hosts),
        start_line(first, launch.launcher == "srun" ? fmt::format("--nodes={}", launch.slurm_nodes)
                                                    : "--map-by node"));
  } else if (launch.slurm_tasks > first.size) {
    add(findings, Severity::remark,
        fmt::format("the allocation is for {} tasks (SLURM_NTASKS), but this run has {}",
                    launch.slurm_tasks, first.size),
        start_line(first, fmt::format("-n {}", launch.slurm_tasks)));
  }
}

void find_unreadable(const ClusterFacts& cluster, Findings& findings) {
  const auto failures =
      ranks_by(cluster.ranks, [](const RankFacts& rank) { return rank.data.failure; });
  for (const auto& [failure, ranks] : failures) {
    add(findings, Severity::fault,
        fmt::format("--data {}: {} cannot read it: {}", cluster.data,
                    ranks_text(ranks, cluster.ranks.size()), failure),
        "--data DIR  that every host sees, with the files as they were downloaded");
  }
}

void find_differing(const ClusterFacts& cluster, Findings& findings) {
  const auto prints =
      ranks_by(cluster.ranks, [](const RankFacts& rank) { return rank.data.fingerprint; });
  if (prints.size() < 2) return;
  std::vector<std::string> sets;
  for (const auto& entry : prints) sets.push_back(ranks_text(entry.second, cluster.ranks.size()));
  add(findings, Severity::fault,
      fmt::format("--data {}: ranks read different images: {}", cluster.data,
                  fmt::join(sets, " / ")),
      "copy one data set to all hosts, or give the path of one that all share");
}

/// A smaller set is meant to be so: only a class that it lacks is reported.
void find_uneven(const RankFacts& rank, const char* split, const ClassCounts& counts,
                 std::size_t official, Findings& findings) {
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  const bool official_size =
      std::accumulate(counts.begin(), counts.end(), std::size_t{0}) == official;
  if (*least == *most || (!official_size && *least > 0)) return;
  const auto name_of = [&](const std::size_t* at) {
    return rank.data.class_names[static_cast<std::size_t>(at - counts.begin())];
  };
  add(findings, official_size ? Severity::fault : Severity::remark,
      fmt::format(
          "the {} set has {} images of class {} and {} of {}{}", split, *least, name_of(least),
          *most, name_of(most),
          official_size ? fmt::format(", CIFAR-10 has {} of each", official / counts.size()) : ""),
      "download the set again: https://www.cs.toronto.edu/~kriz/cifar.html");
}

void find_remarks(const RankFacts& rank, Findings& findings) {
  for (const std::string& remark : rank.data.remarks) {
    add(findings, Severity::remark, "data: " + remark,
        "none if it is meant; else --data DIR of the whole set");
  }
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
  add(findings, Severity::fault,
      fmt::format("the step \"{}\" {}{}", progress.step, progress.trouble,
                  launch.told_size > 1 ? "; ranks that failed by themselves say so above" : ""),
      never_met ? fmt::format("srun --mpi=pmix -n {} rueda doctor  (srun --mpi=list shows the "
                              "kinds that this Slurm offers)",
                              launch.told_size)
                : "mpirun -n 2 rueda doctor  on one host first; if it is only slow: rueda doctor "
                  "--timeout 600");
}

void find_in_versions(const ClusterFacts& cluster, Findings& findings) {
  for (const std::string& name : components(cluster.ranks)) {
    const auto versions =
        ranks_by(cluster.ranks, [&](const RankFacts& rank) { return version_of(rank, name); });
    if (versions.size() < 2) continue;
    std::vector<std::string> texts;
    for (const auto& [version, ranks] : versions) {
      texts.push_back(version + " on " + ranks_text(ranks, cluster.ranks.size()));
    }
    add(findings, Severity::fault,
        fmt::format("versions of {} differ between ranks: {}", name, fmt::join(texts, ", ")),
        "start the same program everywhere: a path on a file system that all hosts share, and the "
        "same modules in the job script");
  }
}

void find_in_launch(const ClusterFacts& cluster, Findings& findings) {
  if (cluster.ranks.empty()) return;
  find_singletons(cluster.ranks.front(), findings);
  find_unused_allocation(cluster, findings);
}

void find_in_data(const ClusterFacts& cluster, Findings& findings) {
  if (cluster.data.empty() || cluster.ranks.empty()) return;
  find_unreadable(cluster, findings);
  find_differing(cluster, findings);
  const auto reader =
      std::find_if(cluster.ranks.begin(), cluster.ranks.end(),
                   [](const RankFacts& rank) { return !rank.data.fingerprint.empty(); });
  if (reader == cluster.ranks.end()) return;
  find_uneven(*reader, "training", reader->data.train_per_class, kOfficialTrainImages, findings);
  find_uneven(*reader, "test", reader->data.test_per_class, kOfficialTestImages, findings);
  find_remarks(*reader, findings);
}

}  // namespace rueda::doctor
