#include "rank_sets.hpp"

#include "rueda/display/number_text.hpp"

namespace rueda::doctor {

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

}  // namespace rueda::doctor
