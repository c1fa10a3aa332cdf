#include "facts.hpp"

#include "report.hpp"
#include "rueda/display/number_text.hpp"

namespace rueda::doctor {

std::string ranks_text(const std::vector<int>& ranks, std::size_t of) {
  if (ranks.size() == of && of > 1) return "all ranks";
  return (ranks.size() == 1 ? "rank " : "ranks ") + ranges_text(ranks);
}

std::map<std::string, std::vector<int>> ranks_by(const std::vector<RankFacts>& ranks,
                                                 const TextOfRank& text) {
  std::map<std::string, std::vector<int>> result;
  for (const RankFacts& rank : ranks) result[text(rank)].push_back(rank.rank);
  result.erase("");
  return result;
}

std::map<std::string, std::vector<const RankFacts*>> ranks_by_host(
    const std::vector<RankFacts>& ranks) {
  std::map<std::string, std::vector<const RankFacts*>> result;
  for (const RankFacts& rank : ranks) result[rank.host].push_back(&rank);
  return result;
}

std::string line_of(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string report_json(const ClusterFacts& cluster, const Findings& findings) {
  const nlohmann::ordered_json json = {{"verdict", verdict(findings)},
                                       {"works", works(findings)},
                                       {"findings", nlohmann::json(findings)},
                                       {"progress", nlohmann::json(cluster.progress)},
                                       {"ranks", nlohmann::json(cluster.ranks)},
                                       {"transfers", nlohmann::json(cluster.transfers)},
                                       {"largest_batch",
                                        {{"backend", cluster.batch_backend},
                                         {"memory_bytes", cluster.batch_memory_bytes},
                                         {"models", nlohmann::json(cluster.batches)}}}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace rueda::doctor
