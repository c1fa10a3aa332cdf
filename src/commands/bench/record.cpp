#include "record.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "known_sums.hpp"
#include "wiring/reduce_tables.hpp"

namespace rueda::bench {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kFormat = 1;

Json check_json(const SystemInfo& system) {
  const double bound = KnownSums::error_bound(static_cast<int>(system.ranks()), system.wire);
  return {{"whole_numbers", system.wire == Wire::fp32 ? "exact" : "within the bound"},
          {"error_bound_of_magnitudes", bound}};
}

Json or_null(std::optional<double> value) { return value ? Json(*value) : Json(); }

/// Rounded to nanoseconds, so that files stay short.
Json seconds_json(const Seconds& seconds) {
  Json json = Json::array();
  for (const double s : seconds) json.push_back(std::round(s * 1e9) / 1e9);
  return json;
}

Json row_json(const Row& row, const Figures& figures) {
  const auto& bw = figures.bandwidth;
  return {{"bytes", row.size.bytes},
          {"gradients_of", row.size.model.empty() ? Json() : Json(row.size.model)},
          {"algorithm", row.algorithm},
          {"repetitions", row.seconds.size()},
          {"median_seconds", figures.median},
          {"p99_seconds", figures.p99},
          {"algbw_GBps", bw ? Json(bw->algbw) : Json()},
          {"busbw_GBps", bw ? Json(bw->busbw) : Json()},
          {"times_mpi", or_null(figures.times_mpi)},
          {"seconds", seconds_json(row.seconds)}};
}

Json table_json(const Record& record) {
  if (record.table_file.empty()) return nullptr;
  return {{"file", record.table_file}, {"rows_hash", record.table_hash}};
}

Json object_of(const std::vector<std::pair<std::string, std::string>>& texts) {
  Json json = Json::object();
  for (const auto& [name, text] : texts) json[name] = text;
  return json;
}

}  // namespace

Figures figures_of(const Row& row, std::size_t ranks, const Row* mpi) {
  Figures figures;
  figures.median = median_of(row.seconds);
  figures.p99 = quantile(row.seconds, 0.99);
  figures.bandwidth = bandwidth(static_cast<double>(row.size.bytes), figures.median, ranks);
  if (mpi != nullptr && figures.median > 0) {
    figures.times_mpi = median_of(mpi->seconds) / figures.median;
  }
  return figures;
}

const Row* mpi_row(const std::vector<Row>& rows, const Size& size) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) {
    return r.algorithm == to_string(Algorithm::mpi) && r.size == size;
  });
  return row == rows.end() ? nullptr : &*row;
}

nlohmann::ordered_json system_json(const SystemInfo& system) {
  return {{"started_at", system.started_at},   {"versions", object_of(system.versions)},
          {"ranks", system.ranks()},           {"hosts", system.hosts},
          {"layout", layout_of(system.hosts)}, {"backend", system.backend},
          {"device", system.device},           {"threads", system.threads},
          {"transport", system.transport},     {"wire", to_string(system.wire)}};
}

std::string file_text(const nlohmann::ordered_json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string record_json(const Record& record) {
  Json json = {{"rueda_bench", kFormat}, {"what", "all-reduce"}};
  json.update(system_json(record.system));
  json["segment_bytes"] = record.segment_bytes;
  json["verify_messages"] = record.verifies_messages;
  json["reduce_table"] = table_json(record);
  json["check"] = check_json(record.system);
  json["left_out"] = object_of(record.left_out);
  json["results"] = Json::array();
  for (const Row& row : record.rows) {
    const Row* mpi = mpi_row(record.rows, row.size);
    json["results"].push_back(row_json(row, figures_of(row, record.system.ranks(), mpi)));
  }
  return file_text(json);
}

}  // namespace rueda::bench
