#include "table.hpp"

#include <algorithm>
#include <array>

#include <spdlog/fmt/fmt.h>

#include "known_sums.hpp"
#include "rueda/display/number_text.hpp"
#include "rueda/display/text_table.hpp"

namespace rueda::bench {
namespace {

/// Of bytes, network, algorithm, repetitions, median, p99, algbw, busbw, times MPI.
using Cells = std::array<std::string, 9>;

std::string line_of(const Cells& c) {
  std::string line = fmt::format("{:>12}  {:<11}  {:<12}  {:>5}  {:>9}  {:>9}  {:>9}  {:>9}  {:>6}",
                                 c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8]);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

/// Four decimals where three significant digits would take more.
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
  const SystemInfo& system = record.system;
  const double bound = KnownSums::error_bound(static_cast<int>(system.ranks()), system.wire);
  return fmt::format(
      "every element of every sum is tested: {} within {} of the sum of their magnitudes",
      system.wire == Wire::fp32 ? "whole numbers exactly, real ones" : "real numbers",
      metric_text(bound));
}

}  // namespace

std::string ranks_text(const std::vector<std::string>& hosts) {
  std::vector<std::string> names;  // each once
  for (const std::string& host : hosts) {
    if (std::find(names.begin(), names.end(), host) == names.end()) names.push_back(host);
  }
  std::string text = counted(hosts.size(), "rank") + " on " + counted(names.size(), "host");
  if (names.size() < 2) return text;
  for (const std::string& name : names) {
    text += fmt::format("{}{}: {}", &name == &names.front() ? " (" : ", ", name,
                        std::count(hosts.begin(), hosts.end(), name));
  }
  return text + ")";
}

std::string table_head(const Record& record) {
  const SystemInfo& system = record.system;
  std::string text = "rueda bench all-reduce: " + ranks_text(system.hosts) + '\n';
  text += "memory: " + system.device + "; to MPI: " + system.transport +
          "; on the wire: " + to_string(system.wire) + '\n';
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
