#include "report.hpp"

#include <algorithm>
#include <numeric>

#include <spdlog/fmt/fmt.h>

#include "rank_table.hpp"
#include "rueda/display/number_text.hpp"
#include "rueda/display/text_table.hpp"

namespace rueda::doctor {
namespace {

using End = TransferFacts::End;

constexpr std::size_t kLabel = 14;
constexpr std::size_t kFindingIndent = 11;

std::string counts_text(const ClassCounts& counts) {
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  const auto all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  return counted(all, "image") + ", " +
         (*least == *most ? count_text(*least) + " of each class"
                          : count_text(*least) + " to " + count_text(*most) + " of a class");
}

/// Lines of a label and a text each.
std::string lines(const std::vector<std::pair<const char*, std::string>>& rows) {
  std::string text;
  for (const auto& [label, words] : rows)
    text += paragraph(std::string("  ") + label, kLabel, words);
  return text;
}

bool any_device(const ClusterFacts& cluster) {
  return std::any_of(cluster.ranks.begin(), cluster.ranks.end(),
                     [](const RankFacts& r) { return !r.device.visible.empty(); });
}

std::string readers_text(const ClusterFacts& cluster) {
  const auto prints =
      ranks_by(cluster.ranks, [](const RankFacts& rank) { return rank.data.fingerprint; });
  std::size_t readers = 0;
  for (const auto& entry : prints) readers += entry.second.size();
  return fmt::format("{} of {}{}", readers, counted(cluster.ranks.size(), "rank"),
                     prints.size() == 1 ? ", the same on each" : "");
}

/// Empty if a rank has not measured its link: one rank, or the run never came to it.
std::string measured_links(const char* memory, const std::vector<LinkFacts>& links) {
  const bool all = std::all_of(links.begin(), links.end(),
                               [](const LinkFacts& link) { return link.latency_us > 0; });
  return all && !links.empty() ? memory + link_table(links) : "";
}

std::string findings_section(const Findings& findings) {
  std::string text = "\nFindings\n";
  if (findings.empty()) return text + "  none\n";
  for (const Finding& finding : findings) {
    const std::string label = finding.severity == Severity::fault ? "  fault" : "  remark";
    // The line to change stays one line, however long, so that it can be copied.
    text += paragraph(label, kFindingIndent, finding.what) + "  change   " + finding.change + "\n";
  }
  return text;
}

constexpr std::size_t kWidestName = 28;
constexpr std::size_t kUuid = 12;  // characters, which differ between GPUs

std::string bytes(std::size_t count) { return bytes_text(static_cast<double>(count)); }

/// CUDA's numbering: 13000 is 13.0.
std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string device_table(const ClusterFacts& cluster) {
  std::vector<RankRow> rows;
  for (const RankFacts& rank : cluster.ranks) {
    const GpuFacts* gpu = rank.device.taken();
    if (gpu == nullptr) {
      rows.push_back({rank.rank, {"none", "", "", "", ""}});
      continue;
    }
    rows.push_back({rank.rank,
                    {fmt::format("{} of {}", gpu->ordinal, rank.device.visible.size()),
                     gpu->name.substr(0, kWidestName), bytes(gpu->memory_bytes),
                     bytes(rank.device.free_bytes), gpu->uuid.substr(0, kUuid)}});
  }
  return rank_table({"takes", "name", "memory", "free", "UUID"},
                    {Align::left, Align::left, Align::right, Align::right, Align::left}, rows);
}

std::string cuda_line(const DeviceFacts& device) {
  std::string text = device.driver_version == 0
                         ? "no driver"
                         : "driver for CUDA up to " + cuda_version(device.driver_version);
  text += ", program runs on CUDA " + cuda_version(device.runtime_version);
  if (!device.visible_devices.empty()) text += ", CUDA_VISIBLE_DEVICES=" + device.visible_devices;
  return lines({{"CUDA", text}});
}

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
    text += (text.empty() ? "" : "; ") + name + " " + version;
  }
  if (rank.device.cudnn_compiled.empty()) return text;
  return text + " (compiled with " + rank.device.cudnn_compiled + ")";
}

/// If ranks share lines, the numbers on the host.
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

std::string clean(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 32 && c != '\n') || byte == 127) c = '?';
  }
  return text;
}

std::string launch_section(const RankFacts& first, std::size_t hosts) {
  return "Launch\n" + lines({{"launcher", launcher_text(first, hosts)},
                             {"Slurm", slurm_text(first.launch)},
                             {"versions", versions_text(first)}});
}

std::string devices_section(const ClusterFacts& cluster) {
  const RankFacts& first = cluster.ranks.front();
  std::string text = "\nGPUs\n";
  text += any_device(cluster) ? device_table(cluster) : lines({{"none", first.device.reason}});
  if (first.device.built) text += cuda_line(first.device);
  const AwarenessFacts& aware = first.awareness;
  if (aware.why.empty()) return text;
  return text + lines({{"MPI", fmt::format("takes GPU memory: compiled {}, reported {}: {}",
                                           aware.compiled, aware.reported, aware.why)}});
}

std::string batches_section(const ClusterFacts& cluster) {
  if (cluster.batches.empty()) return {};
  TextTable table({Align::left, Align::right, Align::right, Align::right}, 2);
  table.add({"model", "image", "fp32", "bf16"});
  const auto cell = [](const BatchFacts& batch) {
    return batch.failure.empty() ? count_text(batch.largest_batch) : std::string("-");
  };
  std::string remark;
  for (std::size_t i = 0; i + 1 < cluster.batches.size(); i += 2) {
    const BatchFacts& fp32 = cluster.batches[i];
    const BatchFacts& bf16 = cluster.batches[i + 1];
    table.add({fp32.model, std::to_string(fp32.image_size), cell(fp32), cell(bf16)});
    remark = bf16.failure;
  }
  return fmt::format("\nLargest batch of a rank ({}, {} a rank)\n", cluster.batch_backend,
                     bytes(cluster.batch_memory_bytes)) +
         table.text() + (remark.empty() ? "" : lines({{"bf16", remark}}));
}

std::string data_section(const ClusterFacts& cluster) {
  if (cluster.data.empty()) return {};
  const std::string title = "\nData set " + cluster.data + "\n";
  const auto reader = std::find_if(cluster.ranks.begin(), cluster.ranks.end(),
                                   [](const RankFacts& r) { return !r.data.fingerprint.empty(); });
  if (reader == cluster.ranks.end()) return title + "  no rank can read it\n";
  const DataFacts& data = reader->data;
  return title + lines({{"form", data.form + " in " + data.place},
                        {"files", fmt::format("{}", fmt::join(data.files, ", "))},
                        {"training", counts_text(data.train_per_class)},
                        {"test", counts_text(data.test_per_class)},
                        {"classes", fmt::format("{}", fmt::join(data.class_names, ", "))},
                        {"read by", readers_text(cluster)}});
}

}  // namespace

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

std::string links_section(const ClusterFacts& cluster) {
  std::vector<LinkFacts> links;
  for (const RankFacts& rank : cluster.ranks) links.push_back(rank.host_link);
  return measured_links("\nHost", links);
}

std::string machine_report(const ClusterFacts& cluster) {
  if (cluster.ranks.empty()) return {};
  const RankFacts& first = cluster.ranks.front();
  return clean(launch_section(first, ranks_by_host(cluster.ranks).size()) + ranks_section(cluster) +
               devices_section(cluster) + links_section(cluster) + data_section(cluster) +
               batches_section(cluster));
}

std::string transfer_line(const ClusterFacts& cluster) {
  if (cluster.transfers.empty()) {
    if (!cluster.progress.trouble.empty()) return "not tried: the run ended before";
    return cluster.ranks.size() == 1 ? "not tried: one rank has no neighbour" : "not tried";
  }
  const bool device = std::any_of(cluster.transfers.begin(), cluster.transfers.end(),
                                  [](const TransferFacts& t) { return t.device; });
  const std::string memory = device ? "GPU memory" : "host memory (GPU memory: no GPU, not tried)";
  const bool arrived = std::all_of(cluster.transfers.begin(), cluster.transfers.end(),
                                   [](const TransferFacts& t) { return t.end == End::arrived; });
  return memory + (arrived ? ": every element arrived, 1 KiB and 8 MiB" : ": went wrong");
}

std::string outcome_report(const ClusterFacts& cluster, const Findings& findings) {
  std::vector<LinkFacts> links;
  for (const TransferFacts& transfer : cluster.transfers) links.push_back(transfer.link);
  return clean("\nTransfer round the ring\n" + lines({{"tried", transfer_line(cluster)}}) +
               measured_links("\nGPU", links) + findings_section(findings) +
               "\nVerdict: " + verdict(findings) + "\n");
}

}  // namespace rueda::doctor
