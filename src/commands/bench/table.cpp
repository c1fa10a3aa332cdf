#include "table.hpp"

#include <algorithm>
#include <array>

#include "known_sums.hpp"
#include "rueda/display/number_text.hpp"
#include "rueda/display/text_table.hpp"

namespace rueda::bench {
namespace {

// Of bytes, network, algorithm, repetitions, median, p99, algbw, busbw, times MPI.
constexpr std::array<std::size_t, 9> kWidths = {12, 11, 12, 5, 9, 9, 9, 9, 6};
using Cells = std::array<std::string, kWidths.size()>;

bool is_text(std::size_t column) { return column == 1 || column == 2; }

std::string line_of(const Cells& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string blanks(kWidths[i] - std::min(kWidths[i], cells[i].size()), ' ');
    line += (i == 0 ? "" : "  ") + (is_text(i) ? cells[i] + blanks : blanks + cells[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

/// Four decimals where three digits that count would take more.
std::string figure(std::optional<double> value) {
  if (!value) return "-";
  return *value >= 0.01 ? rate_text(*value) : std::to_string(*value).substr(0, 6);
}

std::string row_line(const Row& row, const Figures& figures) {
  const auto& bw = figures.bandwidth;
  return line_of({std::to_string(row.size.bytes), row.size.model, row.algorithm,
                  std::to_string(row.seconds.size()), rate_text(figures.median * 1e3),
                  rate_text(figures.p99 * 1e3),
                  figure(bw ? std::optional(bw->algbw) : std::nullopt),
                  figure(bw ? std::optional(bw->busbw) : std::nullopt), figure(figures.times_mpi)});
}

std::string left_out_text(const Record& record) {
  std::string text;
  for (const auto& [name, why] : record.left_out) text += paragraph("", 2, name + ": " + why);
  return text.empty() ? text : "left out, because not to be had here:\n" + text;
}

std::string check_text(const Record& record) {
  const Scene& scene = record.scene;
  const double bound = KnownSums::error_bound(static_cast<int>(scene.ranks()), scene.wire);
  return std::string("every element of every sum is tested: ") +
         (scene.wire == Wire::fp32 ? "whole numbers exactly, real ones" : "real numbers") +
         " within " + metric_text(bound) + " of the sum of their magnitudes";
}

}  // namespace

std::string ranks_text(const std::vector<std::string>& hosts) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const std::string& host : hosts) {
    const auto is = [&host](const auto& count) { return count.first == host; };
    const auto known = std::find_if(counts.begin(), counts.end(), is);
    if (known == counts.end()) {
      counts.emplace_back(host, 1);
    } else {
      ++known->second;
    }
  }
  std::string text = counted(hosts.size(), "rank") + " on " + counted(counts.size(), "host");
  for (std::size_t i = 0; i < counts.size() && counts.size() > 1; ++i) {
    text += (i == 0 ? " (" : ", ") + counts[i].first + ": " + std::to_string(counts[i].second);
  }
  return counts.size() > 1 ? text + ")" : text;
}

std::string table_head(const Record& record) {
  const Scene& scene = record.scene;
  std::string text = "rueda bench all-reduce: " + ranks_text(scene.hosts) + '\n';
  text += "memory: " + scene.device + "; to MPI: " + scene.transport +
          "; on the wire: " + to_string(scene.wire) + '\n';
  if (record.segment_bytes > 0) {
    text += "segments of " + std::to_string(record.segment_bytes / 1024) + " KiB\n";
  }
  if (record.verifies_messages) text += "each message carries a check sum, which is compared\n";
  if (!record.table_file.empty()) {
    text += "auto goes by " + record.table_file + " (rows " + record.table_hash + ")\n";
  }
  text += paragraph("", 0, check_text(record)) + left_out_text(record);
  text +=
      "times are the slowest rank's; GB = 10^9 bytes; x MPI = time of MPI_Allreduce / this "
      "one's\n\n";
  return text +
         line_of({"bytes", "gradients", "all-reduce", "count", "median", "p99", "algbw", "busbw",
                  "x MPI"}) +
         line_of({"", "", "", "", "ms", "ms", "GB/s", "GB/s", ""});
}

std::string table_rows(const std::vector<Row>& rows, std::size_t ranks) {
  std::string text;
  for (const Row& row : rows) {
    text += row_line(row, figures_of(row, ranks, mpi_row(rows, row.size)));
  }
  return text;
}

}  // namespace rueda::bench
