#include "record_json.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "known_sums.hpp"
#include "wiring/reduce_tables.hpp"

namespace rueda::bench {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kFormat = 1;

Json check_json(const Scene& scene) {
  const double bound = KnownSums::error_bound(static_cast<int>(scene.ranks()), scene.wire);
  return {{"whole_numbers", scene.wire == Wire::fp32 ? "exact" : "within the bound"},
          {"error_bound_of_magnitudes", bound}};
}

Json row_json(const Row& row, const Figures& figures) {
  Json json = {{"bytes", row.size.bytes},
               {"gradients_of", row.size.model.empty() ? Json() : Json(row.size.model)},
               {"algorithm", row.algorithm},
               {"repetitions", row.seconds.size()},
               {"median_seconds", figures.median},
               {"p99_seconds", figures.p99},
               {"algbw_GBps", nullptr},
               {"busbw_GBps", nullptr},
               {"times_mpi", nullptr}};
  if (figures.bandwidth) {
    json["algbw_GBps"] = figures.bandwidth->algbw;
    json["busbw_GBps"] = figures.bandwidth->busbw;
  }
  if (figures.times_mpi) json["times_mpi"] = *figures.times_mpi;
  json["seconds"] = seconds_json(row.seconds);
  return json;
}

Json table_json(const Record& record) {
  if (record.table_file.empty()) return nullptr;
  return {{"file", record.table_file}, {"rows_hash", record.table_hash}};
}

}  // namespace

nlohmann::ordered_json scene_json(const Scene& scene) {
  Json versions = Json::object();
  for (const auto& [name, version] : scene.versions) versions[name] = version;
  return {{"started_at", scene.started_at},   {"versions", versions},
          {"ranks", scene.ranks()},           {"hosts", scene.hosts},
          {"layout", layout_of(scene.hosts)}, {"backend", scene.backend},
          {"device", scene.device},           {"threads", scene.threads},
          {"transport", scene.transport},     {"wire", to_string(scene.wire)}};
}

nlohmann::ordered_json seconds_json(const Seconds& seconds) {
  Json json = Json::array();
  for (const double s : seconds) json.push_back(std::round(s * 1e9) / 1e9);
  return json;
}

std::string record_json(const Record& record) {
  Json json = {{"rueda_bench", kFormat}, {"what", "all-reduce"}};
  json.update(scene_json(record.scene));
  json["segment_bytes"] = record.segment_bytes;
  json["verify_messages"] = record.verifies_messages;
  json["reduce_table"] = table_json(record);
  json["check"] = check_json(record.scene);
  json["left_out"] = Json::object();
  for (const auto& [name, why] : record.left_out) json["left_out"][name] = why;
  json["results"] = Json::array();
  for (const Row& row : record.rows) {
    const Row* mpi = mpi_row(record.rows, row.size);
    json["results"].push_back(row_json(row, figures_of(row, record.scene.ranks(), mpi)));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace rueda::bench
