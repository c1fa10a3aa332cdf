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
  const std::string title = fmt::format(
      "\n{} memory to the right neighbour (medians; us: one way, GB/s: 1e9 bytes/s)\n", memory);
  if (links.size() > kMostLines) return title + table_of_extremes(links);
  return title + rank_table({"to", "us", "GB/s"}, {Align::right, Align::right, Align::right}, rows);
}

std::string launcher_text(const RankFacts& first, std::size_t hosts) {
  const LaunchFacts& launch = first.launch;
  std::string start = "none (one process)";
  if (launch.launcher != "none") {
    const char* noun = launch.launched_size == 1 ? "process" : "processes";
    start =
        fmt::format("{}, {} {} ({})", launch.launcher, launch.launched_size, noun, launch.told_by);
  }
  return fmt::format("{}; MPI's world: {} on {}", start, counted(std::size_t(first.size), "rank"),
                     counted(hosts, "host"));
}

std::string slurm_text(const LaunchFacts& launch) {
  if (!launch.in_slurm) return "not inside an allocation";
  std::string text = fmt::format("{}, {}", counted(std::size_t(launch.slurm_nodes), "node"),
                                 counted(std::size_t(launch.slurm_tasks), "task"));
  if (launch.slurm_cpus_per_task > 0)
    text += fmt::format(", {} cores a task", launch.slurm_cpus_per_task);
  if (launch.slurm_gpus.empty()) return text + ", no GPUs asked for";
  return text + ", " + launch.slurm_gpus;
}

/// How many ranks Open MPI's mpirun starts on this machine; empty: no matter.
std::string slots_text(const RankFacts& first) {
  bool more = std::ranges::count(first.launch.settings, kOversubscribe) > 0;
  for (const FileSetting& one : first.launch.file_settings)
    more = more || one.name + "=" + one.value == kOversubscribe;
  if (!awaits_open_mpi(first) || more || first.cores.cores.empty()) return "";
  return fmt::format(
      "mpirun starts up to {} here, one for each core; for more: mpirun --oversubscribe, or "
      ". jobs/env.sh before it",
      counted(first.cores.cores.size(), "rank"));
}

std::string launch_section(const ClusterFacts& cluster) {
  const RankFacts& first = cluster.ranks.front();
  Cells components;
  for (const auto& [name, version] : first.versions) components.push_back(name + " " + version);
  std::string versions = fmt::format("{}", fmt::join(components, "; "));
  const std::string& compiled = first.device.cudnn_compiled;
  if (!compiled.empty()) versions += " (compiled with " + compiled + ")";
  std::string settings = "none of MPI, UCX or OpenMP in the environment";
  if (!first.launch.settings.empty())
    settings = fmt::format("{}", fmt::join(first.launch.settings, ", "));
  std::vector<std::pair<std::string, std::string>> rows = {
      {"launcher", launcher_text(first, ranks_by_host(cluster.ranks).size())},
      {"Slurm", slurm_text(first.launch)},
      {"settings", settings}};
  for (const std::string& text : texts_by_file(first.launch.file_settings))
    rows.emplace_back("in a file", text);
  if (const std::string slots = slots_text(first); !slots.empty())
    rows.emplace_back("slots", slots);
  rows.emplace_back("versions", versions);
  return "Launch\n" + lines(rows);
}

std::string cores_text(const CoreFacts& cores) {
  const bool all = cores.allowed.size() == std::size_t(cores.online);
  std::string text = fmt::format("{} of {}, {}", ranges_text(cores.allowed), cores.online,
                                 all ? "not bound" : "bound");
  if (cores.quota > 0) text += fmt::format(", quota of {:.3g}", cores.quota);
  return text;
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
    std::string local = std::to_string(rank.local_rank);
    if (share_lines) local = fmt::format("0-{}", rank.local_size - 1);
    rows.push_back({short_host(rank.host, kWidestHost), local, std::to_string(rank.cores.threads),
                    fmt::format("{:.3g}", rank.cores.share), cores_text(rank.cores)});
  }
  return "\nRanks (threads that training would run, cores of a rank's own, cores allowed)\n" +
         rank_table({"host", "local", "threads", "cores", "allowed"},
                    {Align::left, Align::right, Align::right, Align::right, Align::left}, rows) +
         limits_section(cluster);
}

/// A core's character: the local rank that may use it, '*' for several, '.' for none.
char mark_of(const std::vector<int>& core, const std::vector<const RankFacts*>& peers) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  char mark = '.';
  for (const RankFacts* rank : peers) {
    if (std::ranges::find_first_of(core, rank->cores.allowed) == core.end()) continue;
    if (mark != '.') return '*';
    mark = kDigits[std::size_t(rank->local_rank) % kDigits.size()];
  }
  return mark;
}

/// A character for each core of a host. Hosts that look alike share a picture.
std::string cores_section(const Ranks& ranks) {
  std::map<std::string, std::vector<std::string>> hosts;
  for (const auto& [host, peers] : ranks_by_host(ranks)) {
    std::string picture;
    for (const std::vector<int>& core : peers.front()->cores.cores) {
      if (picture.size() % 9 == 8) picture += ' ';
      picture += mark_of(core, peers);
    }
    hosts[picture].push_back(host);
  }
  std::string text = "\nCores (local rank that may use each; *: several, .: none)\n";
  for (const auto& [picture, names] : hosts) {
    std::string more;
    if (names.size() > 1) more = fmt::format(" +{}", names.size() - 1);
    text += lines({{short_host(names.front(), 11 - more.size()) + more, picture}});
  }
  return text;
}

std::string device_table(const ClusterFacts& cluster) {
  std::vector<Cells> rows;
  for (const RankFacts& rank : cluster.ranks) {
    const CudaDevice* gpu = rank.device.taken();
    if (gpu == nullptr) {
      rows.push_back({"none", "", "", "", ""});
      continue;
    }
    rows.push_back({fmt::format("{} of {}", gpu->ordinal, rank.device.visible.size()),
                    gpu->name.substr(0, kWidestName), bytes_text(gpu->memory_bytes),
                    bytes_text(rank.device.free_bytes), gpu->uuid.substr(0, kUuid)});
  }
  return rank_table({"takes", "name", "memory", "free", "UUID"},
                    {Align::left, Align::left, Align::right, Align::right, Align::left}, rows);
}

std::string cuda_text(const DeviceFacts& device) {
  std::string text = "no driver";
  if (device.driver_version != 0)
    text = "driver for CUDA up to " + cuda::cuda_version_text(device.driver_version);
  text += ", program runs on CUDA " + cuda::cuda_version_text(device.runtime_version);
  if (!device.visible_devices.empty()) text += ", CUDA_VISIBLE_DEVICES=" + device.visible_devices;
  return text;
}

std::string devices_section(const ClusterFacts& cluster) {
  const RankFacts& first = cluster.ranks.front();
  const AwarenessFacts& aware = first.awareness;
  std::string text = "\nGPUs\n";
  if (std::ranges::all_of(cluster.ranks, sees_no_gpu))
    text += lines({{"none", first.device.reason}});
  else
    text += device_table(cluster);
  if (first.device.built) text += lines({{"CUDA", cuda_text(first.device)}});
  if (aware.why.empty()) return text;
  return text + lines({{"MPI", fmt::format("takes GPU memory: compiled {}, reported {}: {}",
                                           aware.compiled, aware.reported, aware.why)}});
}

std::string batch_text(const BatchFacts& batch) {
  if (!batch.failure.empty()) return "-";
  return count_text(batch.largest_batch);
}

std::string batches_section(const ClusterFacts& cluster) {
  const auto& [backend, memory_bytes, batches] = cluster.largest_batch;
  if (batches.empty()) return {};
  TextTable table = number_table({"model", "image", "fp32", "bf16"});
  std::string of_fp32, remark;
  for (std::size_t i = 0; i + 1 < batches.size(); i += 2) {
    const BatchFacts &fp32 = batches[i], &bf16 = batches[i + 1];
    table.add({fp32.model, std::to_string(fp32.image_size), batch_text(fp32), batch_text(bf16)});
    of_fp32 = fp32.failure;
    remark = bf16.failure;
  }
  const std::string text = fmt::format("\nLargest batch of a rank ({}, {} a rank)\n{}", backend,
                                       bytes_text(memory_bytes), table.text());
  if (remark.empty()) return text;
  // A dash in both columns has a cause of the network, not of the precision.
  return text + lines({{of_fp32.empty() ? "bf16" : "-", remark}});
}

std::string counts_text(const ClassCounts& counts) {
  const auto [least, most] = std::ranges::minmax(counts);
  const std::string images =
      counted(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), "image");
  if (least == most) return fmt::format("{}, {} of each class", images, count_text(least));
  return fmt::format("{}, {} to {} of a class", images, count_text(least), count_text(most));
}

std::string data_section(const ClusterFacts& cluster) {
  if (cluster.data.empty()) return {};
  const std::string title = "\nData set " + cluster.data + "\n";
  const RankFacts* reader = cluster.data_reader();
  if (reader == nullptr) return title + "  no rank can read it\n";
  std::size_t readers = 0;
  const auto prints = ranks_by_print(cluster);
  for (const auto& [print, ranks] : prints) readers += ranks.size();
  std::string read_by = fmt::format("{} of {}", readers, counted(cluster.ranks.size(), "rank"));
  if (prints.size() == 1) read_by += ", the same on each";
  const DataFacts& data = reader->data;
  return title + lines({{"form", data.form + " in " + data.place},
                        {"files", fmt::format("{}", fmt::join(data.files, ", "))},
                        {"training", counts_text(data.train_per_class)},
                        {"test", counts_text(data.test_per_class)},
                        {"classes", fmt::format("{}", fmt::join(data.class_names, ", "))},
                        {"read by", read_by}});
}

std::string transfer_text(const ClusterFacts& cluster) {
  const auto& transfers = cluster.transfers;
  if (transfers.empty()) {
    if (!cluster.progress.trouble.empty()) return "not tried: the run ended before";
    if (cluster.ranks.size() == 1) return "not tried: one rank has no neighbour";
    return "not tried";
  }
  std::string text = "host memory (GPU memory: no GPU, not tried)";
  if (std::ranges::any_of(transfers, &TransferFacts::device)) text = "GPU memory";
  const auto arrived =
      std::ranges::count(transfers, TransferFacts::End::arrived, &TransferFacts::end);
  if (std::size_t(arrived) < transfers.size()) return text + ": went wrong";
  return text + ": every element arrived, 1 KiB and 8 MiB";
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
