#include <numeric>
#include <regex>
#include <set>

#include <fmt/ranges.h>

#include "commands/doctor/facts.hpp"
#include "launch/thread_team.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda::doctor {
namespace {

using End = TransferFacts::End;

/// Settings by which OpenMP gives fewer threads than it is asked for.
Steering team_settings(const LaunchFacts& launch) {
  static const std::string pattern = fmt::format("^({})=", fmt::join(kTeamLimits, "|"));
  return settings_like(pattern.c_str(), launch);
}

/// A rank whose parallel regions have fewer threads than it asked for; empty: it is none.
std::string small_team(const RankFacts& rank) {
  const auto& [threads, team] = std::pair(rank.cores.threads, rank.cores.team);
  if (team == 0 || team >= threads) return "";
  return fmt::format("OpenMP gives {} of {}{}", team, counted(std::size_t(threads), "thread"),
                     team_settings(rank.launch).what);
}

void find_in_teams(const ClusterFacts& cluster, Findings& findings) {
  for (const auto& [said, ranks] : ranks_by(cluster.ranks, small_team)) {
    const RankFacts& first = cluster.ranks.at(std::size_t(ranks.front()));
    const std::string unset = team_settings(first.launch).change;
    std::string change = fmt::format("rueda train --threads {}", first.cores.team);
    if (!unset.empty()) change = unset + "or " + change;
    const std::string who = ranks_text(ranks, cluster.ranks.size());
    findings.push_back({.what = who + ": " + said, .change = change});
  }
}

/// The ends that a rank causes itself, the surest cause first.
constexpr std::pair<End, const char*> kCauses[] = {{End::crashed, "crashed"},
                                                   {End::failed, "failed"},
                                                   {End::wrong, "brought wrong elements"},
                                                   {End::stalled, "did not end"}};

/// "crashed on rank 1 (signal 11)": the ranks that caused it, without those that only waited.
std::string how_it_ended(const std::vector<TransferFacts>& transfers) {
  std::vector<std::string> causes;
  std::string outside;
  for (const auto& [end, words] : kCauses) {
    std::vector<int> ranks;
    std::string detail;
    for (std::size_t r = 0; r < transfers.size(); ++r) {
      const std::string& own = transfers[r].detail;
      if (outside.empty()) outside = own;
      if (transfers[r].end != end) continue;
      ranks.push_back(int(r));
      if (detail.empty()) detail = own;
    }
    if (ranks.empty()) continue;
    std::string& cause = causes.emplace_back(words);
    cause += " on " + ranks_text(ranks, transfers.size());
    if (!detail.empty()) cause += " (" + detail + ")";
  }
  if (!causes.empty()) return fmt::format("{}", fmt::join(causes, "; "));
  if (outside.empty()) return "did not end";
  return "was ended from outside (" + outside + ")";
}

/// A UCX in which GPU memory may be mistaken for the host's: training does without it.
Finding find_old_ucx(const ClusterFacts& cluster) {
  std::string ended = "arrived this time";
  if (std::ranges::any_of(cluster.transfers, &TransferFacts::bad))
    ended = "the transfer " + how_it_ended(cluster.transfers);
  return {.what = "messages straight from GPU memory: " + ended +
                  "; training sends through host memory: " + cluster.ranks.front().awareness.why,
          .change =
              "export UCX_MEMTYPE_CACHE=n  or an MPI with UCX 1.13 or newer; where the site "
              "has mended its UCX: rueda train --transport device ..."};
}

/// If MPI says that it is not CUDA-aware, the device's memory may arrive all
/// the same: so does UCX below an Open MPI that was built without CUDA.
Finding find_in_transfers(const ClusterFacts& cluster) {
  const auto& transfers = cluster.transfers;
  const bool on_device = std::ranges::any_of(transfers, &TransferFacts::device);
  const bool aware = cluster.ranks.front().awareness.aware;
  if (on_device && cluster.ranks.front().awareness.may_crash) return find_old_ucx(cluster);
  if (std::ranges::none_of(transfers, &TransferFacts::bad)) {
    if (!on_device || aware || std::ranges::count(transfers, End::not_tried, &TransferFacts::end)) {
      return {};
    }
    return {.what =
                "GPU memory arrived by MPI_Sendrecv although MPI does not call itself "
                "CUDA-aware; training would send through host memory",
            .change = "rueda train --transport device ..."};
  }
  const auto& [set, unset] = settings_like(kMessageSettings, cluster.ranks.front().launch);
  const std::string ended = "the transfer " + how_it_ended(transfers) + set;
  if (!on_device) {
    return {
        Severity::fault, "messages between ranks: " + ended,
        unset +
            "mpirun --mca btl tcp,self rueda doctor  shows if shared memory or the network is at "
            "fault"};
  }
  const std::string what = "messages straight from GPU memory: " + ended;
  if (aware) {
    return {
        Severity::fault, what + ", although MPI calls itself CUDA-aware",
        unset +
            "rueda train --transport staged ...  or an MPI that takes GPU memory: module load a "
            "CUDA-aware one"};
  }
  return {.what = what + "; MPI is not CUDA-aware, so training sends through host memory",
          .change =
              "module load a CUDA-aware MPI; to be silent about it: rueda train --transport staged "
              "..."};
}

Finding find_differing(const ClusterFacts& cluster) {
  std::vector<std::string> sets;
  for (const auto& [print, ranks] : ranks_by_print(cluster))
    sets.push_back(ranks_text(ranks, cluster.ranks.size()));
  if (sets.size() < 2) return {};
  return {Severity::fault,
          fmt::format("--data {}: ranks read different images: {}", cluster.data,
                      fmt::join(sets, " / ")),
          "copy one data set to all hosts, or give the path of one that all share"};
}

/// A smaller set is meant to be so: only a class that it lacks is reported.
Finding find_uneven(const DataFacts& data, const char* split, const ClassCounts& counts,
                    std::size_t official) {
  const auto [least, most] = std::ranges::minmax_element(counts);
  const bool whole = std::accumulate(counts.begin(), counts.end(), std::size_t{0}) == official;
  if (*least == *most || (!whole && *least > 0)) return {};
  const auto name_of = [&](auto at) { return data.class_names[std::size_t(at - counts.begin())]; };
  Finding uneven{.what = fmt::format("the {} set has {} images of class {} and {} of {}", split,
                                     *least, name_of(least), *most, name_of(most)),
                 .change = "download the set again: https://www.cs.toronto.edu/~kriz/cifar.html"};
  if (whole) {
    uneven.severity = Severity::fault;
    uneven.what += fmt::format(", CIFAR-10 has {} of each", official / counts.size());
  }
  return uneven;
}

std::string why_no_data(const RankFacts& rank) { return rank.data.failure; }

void find_in_data(const ClusterFacts& cluster, Findings& findings) {
  if (cluster.data.empty()) return;
  add_for_ranks(cluster, findings, Severity::fault, "--data {2}: {0} cannot read it: {1}",
                "--data DIR  that every host sees, with the files as they were downloaded",
                why_no_data);
  findings.push_back(find_differing(cluster));
  const RankFacts* reader = cluster.data_reader();
  if (reader == nullptr) return;
  const DataFacts& data = reader->data;
  findings.push_back(find_uneven(data, "training", data.train_per_class, kOfficialTrainImages));
  findings.push_back(find_uneven(data, "test", data.test_per_class, kOfficialTestImages));
  for (const std::string& remark : data.remarks) {
    findings.push_back({.what = "data: " + remark,
                        .change = "none if it is meant; else --data DIR of the whole set"});
  }
}

}  // namespace

std::string version_of(const RankFacts& rank, const std::string& component) {
  for (const auto& [name, version] : rank.versions)
    if (name == component) return version;
  return "not there";
}

bool awaits_open_mpi(const RankFacts& alone) {
  const LaunchFacts& launch = alone.launch;
  return launch.launcher == "none" && !launch.in_slurm &&
         version_of(alone, "MPI").starts_with("Open MPI");
}

Steering settings_like(const char* pattern, const LaunchFacts& launch) {
  const std::regex wanted(pattern), own(kOwnSettings), packaged(kPackaged);
  Steering all;
  for (const std::string& one : launch.settings) {
    if (!std::regex_search(one, wanted) || std::regex_search(one, own)) continue;
    all.what += " (" + one + " is set)";
    all.change += "unset " + one.substr(0, one.find('=')) + "; ";
  }
  for (const FileSetting& setting : launch.file_settings) {
    const std::string one = setting.name + "=" + setting.value;
    if (!std::regex_search(one, wanted) || std::regex_search(one, own) ||
        std::regex_search(one, packaged))
      continue;
    all.what += fmt::format(" ({} is set in line {} of {})", setting.own_text(), setting.line,
                            setting.file);
    all.change += fmt::format("sed -i --follow-symlinks '{}s/^/# /' {}; ", setting.line,
                              shell_word(setting.file));
  }
  return all;
}

void add_for_ranks(const ClusterFacts& cluster, Findings& findings, Severity severity,
                   const char* what, const std::string& change, const TextOfRank& text) {
  for (const auto& [said, ranks] : ranks_by(cluster.ranks, text)) {
    const std::string who = ranks_text(ranks, cluster.ranks.size());
    findings.push_back(
        {severity, fmt::format(fmt::runtime(what), who, said, cluster.data), change});
  }
}

Findings all_findings(const ClusterFacts& cluster) {
  Findings findings;
  find_in_start(cluster, findings);
  find_in_network(cluster, findings);
  if (!cluster.ranks.empty()) {
    find_in_devices(cluster, findings);
    findings.push_back(find_in_transfers(cluster));
    find_in_data(cluster, findings);
    find_in_teams(cluster, findings);
    find_in_cores(cluster, findings);
    find_in_links(cluster, findings);
  }
  std::erase_if(findings, [](const Finding& finding) { return finding.what.empty(); });
  std::ranges::stable_sort(findings, std::greater<>(), &Finding::severity);
  return findings;
}

bool works(const Findings& findings) {
  return std::ranges::count(findings, Severity::fault, &Finding::severity) == 0;
}

std::string verdict(const Findings& findings) {
  if (!works(findings)) return "will not work";
  return findings.empty() ? "ok" : "works with remarks";
}

std::string report_json(const ClusterFacts& cluster, const Findings& findings) {
  const JsonView::Json json = {{"verdict", verdict(findings)},
                               {"works", works(findings)},
                               {"findings", json_of(findings)},
                               {"progress", json_of(cluster.progress)},
                               {"ranks", json_of(cluster.ranks)},
                               {"transfers", json_of(cluster.transfers)},
                               {"largest_batch", json_of(cluster.largest_batch)}};
  return text_of(json, 2) + "\n";
}

}  // namespace rueda::doctor
