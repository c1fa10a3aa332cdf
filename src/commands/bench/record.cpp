#include "commands/bench/record.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/ranges.h>

#include "display/text.hpp"
#include "record/json_parts.hpp"

namespace rueda::bench {
namespace {

double error_bound(const SystemInfo& system) {
  return KnownSums::error_bound(int(system.ranks()), system.wire);
}

/// Of bytes, network, algorithm, repetitions, median, p99, algbw, busbw, times MPI.
using Cells = std::array<std::string, 9>;

std::string line_of(const Cells& c) {
  std::string line = fmt::format("{:>11}  {:<10}  {:<20}  {:>5}  {:>9}  {:>9}  {:>7}  {:>7}  {:>6}",
                                 c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8]);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

/// Four decimals where three significant digits would take more.
std::string figure(std::optional<double> value) {
  if (!value) return "-";
  if (*value < 0.01) return std::to_string(*value).substr(0, 6);
  return rate_text(*value);
}

/// To nanoseconds, so that files stay short.
double rounded(double seconds) { return std::round(seconds * 1e9) / 1e9; }

const std::tuple kFigureFields{
    Field{"median_seconds", &Figures::median}, Field{"p99_seconds", &Figures::p99},
    Field{"algbw_GBps", &Figures::algbw}, Field{"busbw_GBps", &Figures::busbw},
    Field{"times_mpi", &Figures::times_mpi}};

/// None where it is of no model's gradients.
std::optional<std::string> model_of(const Row& row) {
  if (row.size.model.empty()) return {};
  return row.size.model;
}
std::size_t repetitions(const Row& row) { return row.seconds.size(); }

const std::tuple kRowFields{Field{"bytes", in(&Row::size, &Size::bytes)},
                            Derived{"gradients_of", model_of}, Field{"algorithm", &Row::algorithm},
                            Derived{"repetitions", repetitions}};

Json row_json(const Row& row, const Figures& figures) {
  Json j = fields_json(row, kRowFields);
  put_fields(j, figures, kFigureFields);
  j["seconds"] = values_of(row.seconds, rounded);
  return j;
}

std::vector<int> layout(const SystemInfo& system) { return layout_of(system.hosts); }

const std::tuple kSystemFields{Field{"started_at", &SystemInfo::started_at},
                               Field{"versions", &SystemInfo::versions},
                               Derived{"ranks", &SystemInfo::ranks},
                               Field{"hosts", &SystemInfo::hosts},
                               Derived{"layout", layout},
                               Field{"backend", &SystemInfo::backend},
                               Field{"device", &SystemInfo::device},
                               Field{"threads", &SystemInfo::threads},
                               Field{"transport", &SystemInfo::transport},
                               Field{"wire", &SystemInfo::wire}};

const std::tuple kRecordFields{Field{"segment_bytes", &Record::segment_bytes},
                               Field{"verify_messages", &Record::verifies_messages},
                               Field{"auto", &Record::choice}};

}  // namespace

Figures figures_of(const Row& row, std::size_t ranks, const Row* mpi) {
  Figures figures{.median = median_of(row.seconds), .p99 = quantile(row.seconds, 0.99)};
  if (const auto by_median = bandwidth(double(row.size.bytes), figures.median, ranks)) {
    figures.algbw = by_median->algbw;
    figures.busbw = by_median->busbw;
  }
  if (mpi != nullptr && figures.median > 0)
    figures.times_mpi = median_of(mpi->seconds) / figures.median;
  return figures;
}

const Row* mpi_row(const std::vector<Row>& rows, const Size& size) {
  for (const Row& row : rows) {
    if (row.algorithm == to_string(Algorithm::mpi) && row.size == size) return &row;
  }
  return nullptr;
}

std::vector<int> layout_of(const std::vector<std::string>& hosts) {
  const std::vector<std::string> known = each_once(hosts);
  return values_of(hosts, [&known](const std::string& host) {
    return int(std::ranges::find(known, host) - known.begin());
  });
}

std::string ranks_text(const std::vector<std::string>& hosts) {
  std::vector<std::string> names = each_once(hosts);
  const std::string text = counted(hosts.size(), "rank") + " on " + counted(names.size(), "host");
  if (names.size() < 2) return text;
  for (std::string& name : names) name += ": " + std::to_string(std::ranges::count(hosts, name));
  return fmt::format("{} ({})", text, fmt::join(names, ", "));
}

std::string table_head(const Record& record) {
  const SystemInfo& system = record.system;
  std::string text = fmt::format(
      "rueda bench all-reduce: {}\nmemory: {}; to MPI: {}; on the wire: {}\n",
      ranks_text(system.hosts), system.device, system.transport, to_string(system.wire));
  if (record.segment_bytes > 0)
    text += fmt::format("segments of {} KiB\n", record.segment_bytes / 1024);
  if (record.verifies_messages) text += "each message carries a check sum, which is compared\n";
  if (!record.choice.empty()) text += paragraph("", 2, record.choice);
  text += paragraph(
      "", 0,
      fmt::format(
          "every element of every sum is tested: {} within {} of the sum of their magnitudes",
          system.wire == Wire::fp32 ? "whole numbers exactly, real ones" : "real numbers",
          metric_text(error_bound(system))));
  if (!record.left_out.empty()) text += "left out, because not to be had here:\n";
  for (const auto& [name, why] : record.left_out) text += paragraph("", 2, name + ": " + why);
  return text +
         "times are the slowest rank's; GB = 10^9 bytes; x MPI = time of MPI_Allreduce / this "
         "one's\n\n" +
         line_of({"bytes", "gradients", "all-reduce", "count", "median", "p99", "algbw", "busbw",
                  "x MPI"}) +
         line_of({"", "", "", "", "ms", "ms", "GB/s", "GB/s", ""});
}

std::string table_rows(const std::vector<Row>& rows, std::size_t ranks) {
  std::string text;
  for (const Row& row : rows) {
    const Figures figures = figures_of(row, ranks, mpi_row(rows, row.size));
    text += line_of({std::to_string(row.size.bytes), row.size.model, row.algorithm,
                     std::to_string(row.seconds.size()), rate_text(figures.median * 1e3),
                     rate_text(figures.p99 * 1e3), figure(figures.algbw), figure(figures.busbw),
                     figure(figures.times_mpi)});
  }
  return text;
}

std::string record_json(const Record& record) {
  const SystemInfo& system = record.system;
  Json json = {{"rueda_bench", kRecordVersion}, {"what", "all-reduce"}};
  put_fields(json, system, kSystemFields);
  put_fields(json, record, kRecordFields);
  json["check"] = {{"whole_numbers", system.wire == Wire::fp32 ? "exact" : "within the bound"},
                   {"error_bound_of_magnitudes", error_bound(system)}};
  json["left_out"] = json_of(record.left_out);
  json["results"] = Json::array();
  for (const Row& row : record.rows) {
    const Row* mpi = mpi_row(record.rows, row.size);
    json["results"].push_back(row_json(row, figures_of(row, system.ranks(), mpi)));
  }
  return text_of(json, 1) + '\n';
}

}  // namespace rueda::bench
