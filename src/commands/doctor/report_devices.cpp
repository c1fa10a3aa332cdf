#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "link_table.hpp"
#include "rank_rows.hpp"
#include "rank_sets.hpp"
#include "report.hpp"
#include "rueda/display/number_text.hpp"
#include "rueda/display/text_table.hpp"

namespace rueda::doctor {
namespace {

constexpr std::size_t kLabel = 14;
constexpr std::size_t kWidestName = 28;
constexpr std::size_t kUuid = 12;  // enough to tell GPUs apart

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
  return paragraph("  CUDA", kLabel, text);
}

}  // namespace

std::string devices_section(const ClusterFacts& cluster) {
  const RankFacts& first = cluster.ranks.front();
  const bool any = std::any_of(cluster.ranks.begin(), cluster.ranks.end(),
                               [](const RankFacts& r) { return !r.device.visible.empty(); });
  std::string text = "\nGPUs\n";
  text += any ? device_table(cluster) : paragraph("  none", kLabel, first.device.reason);
  if (first.device.built) text += cuda_line(first.device);
  const AwarenessFacts& aware = first.awareness;
  if (aware.why.empty()) return text;
  return text + paragraph("  MPI", kLabel,
                          fmt::format("takes GPU memory: compiled {}, reported {}: {}",
                                      aware.compiled, aware.reported, aware.why));
}

std::string links_section(const ClusterFacts& cluster) {
  std::vector<LinkFacts> links;
  for (const RankFacts& rank : cluster.ranks) {
    if (rank.host_link.latency_us <= 0) return {};  // one rank, or it never came to it
    links.push_back(rank.host_link);
  }
  return "\nHost" + link_table(links);
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
         table.text() + (remark.empty() ? "" : paragraph("  bf16", kLabel, remark));
}

}  // namespace rueda::doctor
