#include "report.hpp"

#include <algorithm>
#include <numeric>

#include <spdlog/fmt/fmt.h>

#include "link_table.hpp"
#include "rank_sets.hpp"
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

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string readers_text(const ClusterFacts& cluster) {
  const auto prints =
      ranks_by(cluster.ranks, [](const RankFacts& rank) { return rank.data.fingerprint; });
  std::size_t readers = 0;
  for (const auto& entry : prints) readers += entry.second.size();
  return fmt::format("{} of {}{}", readers, counted(cluster.ranks.size(), "rank"),
                     prints.size() == 1 ? ", the same on each" : "");
}

bool tried(const ClusterFacts& cluster) { return !cluster.transfers.empty(); }

/// Only where all has arrived, and it is of device memory.
std::string device_links(const ClusterFacts& cluster) {
  std::vector<LinkFacts> links;
  for (const TransferFacts& transfer : cluster.transfers) {
    if (transfer.link.latency_us <= 0) return {};
    links.push_back(transfer.link);
  }
  return links.empty() ? "" : "\nGPU" + link_table(links);
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

}  // namespace

std::string clean(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 32 && c != '\n') || byte == 127) c = '?';
  }
  return text;
}

std::string data_section(const ClusterFacts& cluster) {
  if (cluster.data.empty()) return {};
  const std::string title = "\nData set " + cluster.data + "\n";
  const auto reader = std::find_if(cluster.ranks.begin(), cluster.ranks.end(),
                                   [](const RankFacts& r) { return !r.data.fingerprint.empty(); });
  if (reader == cluster.ranks.end()) return title + "  no rank can read it\n";
  const DataFacts& data = reader->data;
  return title + paragraph("  form", kLabel, data.form + " in " + data.place) +
         paragraph("  files", kLabel, joined(data.files)) +
         paragraph("  training", kLabel, counts_text(data.train_per_class)) +
         paragraph("  test", kLabel, counts_text(data.test_per_class)) +
         paragraph("  classes", kLabel, joined(data.class_names)) +
         paragraph("  read by", kLabel, readers_text(cluster));
}

std::string machine_report(const ClusterFacts& cluster) {
  if (cluster.ranks.empty()) return {};
  const RankFacts& first = cluster.ranks.front();
  return clean(launch_section(first, ranks_by_host(cluster.ranks).size()) + ranks_section(cluster) +
               devices_section(cluster) + links_section(cluster) + data_section(cluster) +
               batches_section(cluster));
}

std::string transfer_line(const ClusterFacts& cluster) {
  if (!tried(cluster)) {
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
  return clean("\nTransfer round the ring\n" +
               paragraph("  tried", kLabel, transfer_line(cluster)) + device_links(cluster) +
               findings_section(findings) + "\nVerdict: " + verdict(findings) + "\n");
}

}  // namespace rueda::doctor
