#include <numeric>

#include <fmt/ranges.h>

#include "base/statistics.hpp"
#include "commands/doctor/facts.hpp"

namespace rueda::doctor {
namespace {

using Cells = std::vector<std::string>;

constexpr std::size_t kMostLines = 16;  ///< of ranks that have a line each
constexpr std::size_t kWidestHost = 20;
constexpr std::size_t kWidestName = 28;
constexpr std::size_t kUuid = 12;  // characters, which differ between GPUs

/// Lines of a label and a text each.
std::string lines(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string text;
  for (const auto& [label, words] : rows) text += paragraph("  " + label, 14, words);
  return text;
}

/// A table of the ranks' cells with a line for each rank up to kMostLines;
/// beyond, ranks whose cells agree share one, and after so many lines the rest
/// is counted.
std::string rank_table(Cells head, std::vector<Align> align, const std::vector<Cells>& cells) {
  struct Line {
    std::vector<int> ranks;
    Cells cells;
  };
  std::vector<Line> table_lines;
  for (const Cells& own : cells) {
    auto at = table_lines.end();
    if (cells.size() > kMostLines) at = std::ranges::find(table_lines, own, &Line::cells);
    if (at == table_lines.end()) at = table_lines.insert(at, {{}, own});
    at->ranks.push_back(int(&own - cells.data()));
  }
  align.insert(align.begin(), Align::right);
  head.insert(head.begin(), "rank");
  TextTable table(align, 2);
  table.add(std::move(head));
  for (std::size_t i = 0; i < std::min(table_lines.size(), kMostLines); ++i) {
    Cells& row = table_lines[i].cells;
    row.insert(row.begin(), ranges_text(table_lines[i].ranks));
    table.add(std::move(row));
  }
  if (table_lines.size() <= kMostLines) return table.text();
  return fmt::format("{}  and {}; --json FILE holds all\n", table.text(),
                     counted(table_lines.size() - kMostLines, "more line"));
}

std::string table_of_extremes(const std::vector<LinkFacts>& links) {
  const auto slowest = std::ranges::min_element(links, {}, &LinkFacts::gb_per_second);
  auto latencies = values_of(links, &LinkFacts::latency_us);
  auto speeds = values_of(links, &LinkFacts::gb_per_second);
  std::ranges::sort(latencies);
  std::ranges::sort(speeds, std::greater<>());
  TextTable table({Align::left, Align::right, Align::right, Align::left}, 2);
  table.add({"", "us", "GB/s", ""});
  const auto add = [&](const char* name, std::size_t i, const std::string& remark) {
    table.add({name, rate_text(latencies[i]), rate_text(speeds[i]), remark});
  };
  add("best", 0, "");
  add("median", links.size() / 2, "");
  add("worst", links.size() - 1,
      fmt::format("the lowest GB/s is that of rank {} to the next", slowest - links.begin()));
  return table.text();
}

/// The links by rank; of more than kMostLines the best, the median and the
/// worst. Empty if a rank has not measured its own: one rank, or the run never
/// came to it.
template <class Facts>
std::string links_section(const char* memory, const std::vector<Facts>& ranks,
                          LinkFacts Facts::*link_of) {
  std::vector<LinkFacts> links;
  std::vector<Cells> rows;
  for (const Facts& rank : ranks) {
    const LinkFacts& link = links.emplace_back(rank.*link_of);
    if (link.latency_us <= 0) return {};
    rows.push_back({std::to_string(links.size() % ranks.size()), rate_text(link.latency_us),
                    rate_text(link.gb_per_second)});
  }
  if (links.empty()) return {};
  return fmt::format(
             "\n{} memory to the right neighbour (medians; us: one way, GB/s: 1e9 bytes/s)\n",
             memory) +
         (links.size() > kMostLines
              ? table_of_extremes(links)
              : rank_table({"to", "us", "GB/s"}, {Align::right, Align::right, Align::right}, rows));
}

std::string launcher_text(const RankFacts& first, std::size_t hosts) {
  const LaunchFacts& launch = first.launch;
  const std::string start =
      launch.launcher == "none"
          ? "none (one process)"
          : fmt::format("{}, {} {} ({})", launch.launcher, launch.told_size,
                        launch.told_size == 1 ? "process" : "processes", launch.told_by);
  return fmt::format("{}; MPI's world: {} on {}", start, counted(std::size_t(first.size), "rank"),
                     counted(hosts, "host"));
}

std::string slurm_text(const LaunchFacts& launch) {
  if (!launch.in_slurm) return "not inside an allocation";
  const int cores = launch.slurm_cpus_per_task;
  return fmt::format("{}, {}{}, {}", counted(std::size_t(launch.slurm_nodes), "node"),
                     counted(std::size_t(launch.slurm_tasks), "task"),
                     cores > 0 ? fmt::format(", {} cores a task", cores) : "",
                     launch.slurm_gpus.empty() ? "no GPUs asked for" : launch.slurm_gpus);
}

std::string launch_section(const ClusterFacts& cluster) {
  const RankFacts& first = cluster.ranks.front();
  std::string versions;
  for (const auto& [name, version] : first.versions)
    versions += (versions.empty() ? "" : "; ") + name + " " + version;
  const std::string& compiled = first.device.cudnn_compiled;
  if (!compiled.empty()) versions += " (compiled with " + compiled + ")";
  return "Launch\n" +
         lines({{"launcher", launcher_text(first, ranks_by_host(cluster.ranks).size())},
                {"Slurm", slurm_text(first.launch)},
                {"settings", first.launch.settings.empty()
                                 ? "none of MPI, UCX or OpenMP in the environment"
                                 : fmt::format("{}", fmt::join(first.launch.settings, ", "))},
                {"versions", versions}});
}

std::string cores_text(const CoreFacts& cores) {
  const bool all = cores.allowed.size() == std::size_t(cores.online);
  return fmt::format("{} of {}{}{}", ranges_text(cores.allowed), cores.online,
                     all ? ", not bound" : ", bound",
                     cores.quota > 0 ? fmt::format(", quota of {:.3g}", cores.quota) : "");
}

/// Of control groups, each once.
std::string limits_section(const ClusterFacts& cluster) {
  std::vector<std::pair<std::string, std::string>> rows;
  const auto limits = ranks_by(cluster.ranks, [](const RankFacts& rank) { return rank.limits; });
  for (const auto& [text, ranks] : limits)
    rows.emplace_back("limits", text + ", of " + ranks_text(ranks, cluster.ranks.size()));
  return lines(rows);
}

std::string ranks_section(const ClusterFacts& cluster) {
  const bool share_lines = cluster.ranks.size() > kMostLines;
  std::vector<Cells> rows;
  for (const RankFacts& rank : cluster.ranks) {
    const std::string local =
        share_lines ? fmt::format("0-{}", rank.local_size - 1) : std::to_string(rank.local_rank);
    rows.push_back({short_host(rank.host, kWidestHost), local, std::to_string(rank.cores.threads),
                    fmt::format("{:.3g}", rank.cores.share), cores_text(rank.cores)});
  }
  return "\nRanks (threads that training would run, cores of a rank's own, cores allowed)\n" +
         rank_table({"host", "local", "threads", "cores", "allowed"},
                    {Align::left, Align::right, Align::right, Align::right, Align::left}, rows) +
         limits_section(cluster);
}

/// A character for each core of a host. Hosts that look alike share a picture.
std::string cores_section(const Ranks& ranks) {
  std::map<std::string, std::vector<std::string>> hosts;
  for (const auto& [host, peers] : ranks_by_host(ranks)) {
    std::string picture;
    for (const std::vector<int>& core : peers.front()->cores.cores) {
      char mark = '.';
      for (const RankFacts* rank : peers)
        if (std::ranges::find_first_of(core, rank->cores.allowed) != core.end())
          mark = mark == '.' ? "0123456789abcdefghijklmnopqrstuvwxyz"[rank->local_rank % 36] : '*';
      picture += picture.size() % 9 == 8 ? std::string(" ") + mark : std::string(1, mark);
    }
    hosts[picture].push_back(host);
  }
  std::string text = "\nCores (local rank that may use each; *: several, .: none)\n";
  for (const auto& [picture, names] : hosts) {
    const std::string more = names.size() > 1 ? fmt::format(" +{}", names.size() - 1) : "";
    text += lines({{short_host(names.front(), 11 - more.size()) + more, picture}});
  }
  return text;
}

std::string device_table(const ClusterFacts& cluster) {
  std::vector<Cells> rows;
  for (const RankFacts& rank : cluster.ranks) {
    const CudaDevice* gpu = rank.device.taken();
    rows.push_back(gpu == nullptr
                       ? Cells{"none", "", "", "", ""}
                       : Cells{fmt::format("{} of {}", gpu->ordinal, rank.device.visible.size()),
                               gpu->name.substr(0, kWidestName), bytes_text(gpu->memory_bytes),
                               bytes_text(rank.device.free_bytes), gpu->uuid.substr(0, kUuid)});
  }
  return rank_table({"takes", "name", "memory", "free", "UUID"},
                    {Align::left, Align::left, Align::right, Align::right, Align::left}, rows);
}

std::string cuda_text(const DeviceFacts& device) {
  const std::string& visible = device.visible_devices;
  const std::string driver =
      "driver for CUDA up to " + cuda::cuda_version_text(device.driver_version);
  return fmt::format("{}, program runs on CUDA {}{}{}",
                     device.driver_version == 0 ? "no driver" : driver,
                     cuda::cuda_version_text(device.runtime_version),
                     visible.empty() ? "" : ", CUDA_VISIBLE_DEVICES=", visible);
}

std::string devices_section(const ClusterFacts& cluster) {
  const RankFacts& first = cluster.ranks.front();
  const AwarenessFacts& aware = first.awareness;
  const auto sees_none = [](const RankFacts& rank) { return rank.device.visible.empty(); };
  const bool none = std::ranges::all_of(cluster.ranks, sees_none);
  std::string text =
      "\nGPUs\n" + (none ? lines({{"none", first.device.reason}}) : device_table(cluster));
  if (first.device.built) text += lines({{"CUDA", cuda_text(first.device)}});
  if (aware.why.empty()) return text;
  return text + lines({{"MPI", fmt::format("takes GPU memory: compiled {}, reported {}: {}",
                                           aware.compiled, aware.reported, aware.why)}});
}

std::string batches_section(const ClusterFacts& cluster) {
  const auto& [backend, memory_bytes, batches] = cluster.largest_batch;
  if (batches.empty()) return {};
  TextTable table = number_table({"model", "image", "fp32", "bf16"});
  const auto cell = [](const BatchFacts& batch) {
    return batch.failure.empty() ? count_text(batch.largest_batch) : std::string("-");
  };
  std::string remark;
  for (std::size_t i = 0; i + 1 < batches.size(); i += 2) {
    const BatchFacts &fp32 = batches[i], &bf16 = batches[i + 1];
    table.add({fp32.model, std::to_string(fp32.image_size), cell(fp32), cell(bf16)});
    remark = bf16.failure;
  }
  return fmt::format("\nLargest batch of a rank ({}, {} a rank)\n", backend,
                     bytes_text(memory_bytes)) +
         table.text() + (remark.empty() ? "" : lines({{"bf16", remark}}));
}

std::string counts_text(const ClassCounts& counts) {
  const auto [least, most] = std::ranges::minmax(counts);
  const auto all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  return fmt::format("{}, {}{}{}", counted(all, "image"), count_text(least),
                     least == most ? "" : " to " + count_text(most),
                     least == most ? " of each class" : " of a class");
}

std::string data_section(const ClusterFacts& cluster) {
  if (cluster.data.empty()) return {};
  const std::string title = "\nData set " + cluster.data + "\n";
  const RankFacts* reader = cluster.data_reader();
  if (reader == nullptr) return title + "  no rank can read it\n";
  std::size_t readers = 0;
  const auto prints = ranks_by_print(cluster);
  for (const auto& [print, ranks] : prints) readers += ranks.size();
  const DataFacts& data = reader->data;
  return title + lines({{"form", data.form + " in " + data.place},
                        {"files", fmt::format("{}", fmt::join(data.files, ", "))},
                        {"training", counts_text(data.train_per_class)},
                        {"test", counts_text(data.test_per_class)},
                        {"classes", fmt::format("{}", fmt::join(data.class_names, ", "))},
                        {"read by",
                         fmt::format("{} of {}{}", readers, counted(cluster.ranks.size(), "rank"),
                                     prints.size() == 1 ? ", the same on each" : "")}});
}

std::string transfer_text(const ClusterFacts& cluster) {
  const auto& transfers = cluster.transfers;
  if (transfers.empty()) {
    if (!cluster.progress.trouble.empty()) return "not tried: the run ended before";
    return cluster.ranks.size() == 1 ? "not tried: one rank has no neighbour" : "not tried";
  }
  const bool device = std::ranges::any_of(transfers, &TransferFacts::device);
  const bool arrived = std::ranges::all_of(transfers, [](const TransferFacts& transfer) {
    return transfer.end == TransferFacts::End::arrived;
  });
  return std::string(device ? "GPU memory" : "host memory (GPU memory: no GPU, not tried)") +
         (arrived ? ": every element arrived, 1 KiB and 8 MiB" : ": went wrong");
}

std::string findings_section(const Findings& findings) {
  std::string text = "\nFindings\n";
  if (findings.empty()) text += "  none\n";
  for (const auto& [severity, what, change] : findings) {
    text += paragraph(severity == Severity::fault ? "  fault" : "  remark", 11, what);
    // The line to change stays one line, however long, so that it can be copied.
    text += "  change   " + change + "\n";
  }
  return text;
}

}  // namespace

std::string machine_report(const ClusterFacts& cluster) {
  if (cluster.ranks.empty()) return {};
  return launch_section(cluster) + ranks_section(cluster) + cores_section(cluster.ranks) +
         devices_section(cluster) + links_section("Host", cluster.ranks, &RankFacts::host_link) +
         data_section(cluster) + batches_section(cluster);
}

std::string outcome_report(const ClusterFacts& cluster, const Findings& findings) {
  return "\nTransfer round the ring\n" + lines({{"tried", transfer_text(cluster)}}) +
         links_section("GPU", cluster.transfers, &TransferFacts::link) +
         findings_section(findings) + "\nVerdict: " + verdict(findings) + "\n";
}

}  // namespace rueda::doctor
