#include "facts_json.hpp"

namespace rueda::doctor {
namespace {

template <class AnyJson>
std::string dumped(const AnyJson& json, int indent) {
  return json.dump(indent, ' ', false, AnyJson::error_handler_t::replace);
}

}  // namespace

std::string report_json(const ClusterFacts& cluster, const Findings& findings) {
  nlohmann::ordered_json json;
  json["verdict"] = verdict(findings);
  json["works"] = works(findings);
  json["findings"] = nlohmann::json(findings);
  json["progress"] = nlohmann::json(cluster.progress);
  json["ranks"] = nlohmann::json(cluster.ranks);
  json["transfers"] = nlohmann::json(cluster.transfers);
  json["largest_batch"] = {{"backend", cluster.batch_backend},
                           {"memory_bytes", cluster.batch_memory_bytes},
                           {"models", nlohmann::json(cluster.batches)}};
  return dumped(json, 2) + "\n";
}

std::string line_of(const nlohmann::json& json) { return dumped(json, -1); }

}  // namespace rueda::doctor
