#include "facts.hpp"

#include "facts_json.hpp"
#include "rueda/display/number_text.hpp"

namespace rueda::doctor {
namespace {

template <class AnyJson>
std::string dumped(const AnyJson& json, int indent) {
  return json.dump(indent, ' ', false, AnyJson::error_handler_t::replace);
}

}  // namespace

std::string ranks_text(const std::vector<int>& ranks, std::size_t of) {
  if (ranks.size() == of && of > 1) return "all ranks";
  return (ranks.size() == 1 ? "rank " : "ranks ") + ranges_text(ranks);
}

std::map<std::string, std::vector<int>> ranks_by(
    const std::vector<RankFacts>& ranks, const std::function<std::string(const RankFacts&)>& text) {
  std::map<std::string, std::vector<int>> result;
  for (const RankFacts& rank : ranks) {
    const std::string key = text(rank);
    if (!key.empty()) result[key].push_back(rank.rank);
  }
  return result;
}

std::map<std::string, std::vector<const RankFacts*>> ranks_by_host(
    const std::vector<RankFacts>& ranks) {
  std::map<std::string, std::vector<const RankFacts*>> result;
  for (const RankFacts& rank : ranks) result[rank.host].push_back(&rank);
  return result;
}

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
