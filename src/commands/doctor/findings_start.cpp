#include <set>

#include <fmt/ranges.h>

#include "commands/doctor/facts.hpp"

namespace rueda::doctor {
namespace {

/// The start of `command` by a Slurm whose srun and MPI find each other.
std::string srun_by_pmix(const LaunchFacts& launch, const char* command) {
  return fmt::format(
      "srun --mpi=pmix -n {} rueda {}  (srun --mpi=list shows the kinds that this Slurm offers)",
      launch.launched_size, command);
}

/// What keeps MPI from starting on the hosts that have left word, or on this one.
Steering obstacles_of(const ClusterFacts& cluster) {
  Steering all;
  if (cluster.progress.step != kStartStep) return all;
  const auto hosts = known_hosts(cluster);
  for (const auto& [host, facts] : hosts) {
    const std::string where = hosts.size() > 1 ? fmt::format("on {}: ", host) : "";
    for (const auto& [why, remedy] : facts.launch.obstacles) {
      all.what += fmt::format(" ({}{})", where, printable(why));
      all.change += where + printable(remedy) + "; ";
    }
  }
  return all;
}

/// Whether the hosts have different MPI libraries, or one address.
bool hosts_differ(const ClusterFacts& cluster) {
  std::set<std::string> libraries;
  for (const auto& [host, facts] : known_hosts(cluster)) libraries.insert(version_of(facts, "MPI"));
  return libraries.size() > 1 || !shared_addresses(cluster).empty();
}

Finding find_in_progress(const ClusterFacts& cluster) {
  const auto& [step, trouble, own] = cluster.progress;
  if (trouble.empty()) return {};
  const LaunchFacts launch = cluster.ranks.empty() ? LaunchFacts() : cluster.ranks[0].launch;
  Steering cause = obstacles_of(cluster);
  if (cause.what.empty()) cause = settings_like(kMessageSettings, launch);
  std::string what = fmt::format("the step \"{}\" {}{}", step, trouble, cause.what);
  if (launch.launched_size > 1) what += "; ranks that failed by themselves report it above";
  if (never_started(cluster) && hosts_differ(cluster))
    return {Severity::fault, what, "what is said below; then the same again"};
  std::string change =
      "mpirun -n 2 rueda doctor  on one host first; if it is only slow: rueda doctor --timeout 600";
  if (step == kTeamStep) change = kMoreThreads;
  const bool never_met = step == kStartStep && launch.launcher == "srun";
  if (never_met) change = srun_by_pmix(launch, "doctor");
  return {Severity::fault, what, cause.change + change};
}

/// The launcher that belongs to the MPI library.
std::string right_launcher(const LaunchFacts& launch) {
  if (launch.launcher == "srun") return srun_by_pmix(launch, "train ...");
  return fmt::format(
      "module load the MPI that rueda is linked with (rueda --version names it), and start with "
      "its own mpirun -n {}; in Slurm also srun --mpi=pmix",
      launch.launched_size);
}

std::string on_all_nodes(const LaunchFacts& launch) {
  if (launch.launcher != "srun") return "mpirun --map-by node rueda train ...";
  return fmt::format("srun --nodes={} rueda train ...", launch.slurm_nodes);
}

/// Processes that each train alone, or an allocation that is not used.
Finding find_in_launch(const ClusterFacts& cluster) {
  const RankFacts& first = cluster.ranks.front();
  const LaunchFacts& launch = first.launch;
  if (never_started(cluster)) return {};  // how many there are is not known
  if (!launch.refusal.empty()) {
    return {Severity::fault,
            fmt::format("{} started {} processes ({}={}), but MPI sees a world of {}: launcher and "
                        "MPI library do not know each other, and each process would train alone",
                        launch.launcher, launch.launched_size, launch.told_by, launch.launched_size,
                        first.size),
            right_launcher(launch)};
  }
  const auto hosts = int(ranks_by_host(cluster.ranks).size());
  if (launch.in_slurm && launch.slurm_nodes > hosts) {
    return {.what = fmt::format("the allocation has {} nodes, but the ranks are on {}",
                                launch.slurm_nodes, hosts),
            .change = on_all_nodes(launch)};
  }
  if (!launch.in_slurm || launch.slurm_tasks <= first.size) return {};
  return {.what = fmt::format("the allocation is for {} tasks (SLURM_NTASKS), but this run has {}",
                              launch.slurm_tasks, first.size),
          .change = fmt::format("{} -n {} rueda train ...",
                                launch.launcher == "srun" ? "srun" : "mpirun", launch.slurm_tasks)};
}

/// What keeps the mpirun from starting that comes after this look at the machine.
Finding find_before_mpirun(const RankFacts& alone) {
  if (!awaits_open_mpi(alone) || !alone.launch.refuses_root) return {};
  return {
      .what = "you are root, and Open MPI's mpirun starts nothing for root unless told to",
      .change =
          "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1  # or: . jobs/env.sh"};
}

/// Who has which version of `component`: ranks, or hosts where MPI did not start.
std::map<std::string, std::string> holders_by_version(const ClusterFacts& cluster,
                                                      const std::string& component) {
  std::map<std::string, std::string> holders;
  if (!never_started(cluster)) {
    const auto version = [&](const RankFacts& rank) { return version_of(rank, component); };
    for (const auto& [said, ranks] : ranks_by(cluster.ranks, version))
      holders[said] = ranks_text(ranks, cluster.ranks.size());
    return holders;
  }
  for (const auto& [host, facts] : known_hosts(cluster)) {
    std::string& names = holders[version_of(facts, component)];
    if (!names.empty()) names += ", ";
    names += host;
  }
  return holders;
}

void find_in_versions(const ClusterFacts& cluster, Findings& findings) {
  std::set<std::string> components;
  for (const auto& [host, facts] : known_hosts(cluster))
    for (const auto& [name, version] : facts.versions) components.insert(name);
  for (const RankFacts& rank : cluster.ranks)
    for (const auto& [name, version] : rank.versions) components.insert(name);
  for (const std::string& name : components) {
    const auto holders = holders_by_version(cluster, name);
    if (holders.size() < 2) continue;
    std::vector<std::string> texts;
    for (const auto& [version, who] : holders) texts.push_back(printable(version) + " on " + who);
    findings.push_back(
        {Severity::fault,
         fmt::format("versions of {} differ between {}: {}", printable(name),
                     never_started(cluster) ? "hosts" : "ranks", fmt::join(texts, ", ")),
         "start the same program everywhere: a path on a file system that all hosts share, and "
         "the same modules in the job script"});
  }
}

}  // namespace

std::map<std::string, RankFacts> known_hosts(const ClusterFacts& cluster) {
  auto hosts = cluster.hosts;
  for (const RankFacts& rank : cluster.ranks) hosts.emplace(rank.host, rank);
  return hosts;
}

bool hosts_explain_no_start(const ClusterFacts& cluster) {
  for (const auto& [host, facts] : known_hosts(cluster))
    if (!facts.launch.obstacles.empty()) return true;
  return hosts_differ(cluster);
}

void find_in_start(const ClusterFacts& cluster, Findings& findings) {
  findings.push_back(find_in_progress(cluster));
  if (cluster.ranks.empty()) return;
  findings.push_back(find_in_launch(cluster));
  findings.push_back(find_before_mpirun(cluster.ranks.front()));
  find_in_versions(cluster, findings);
}

}  // namespace rueda::doctor
