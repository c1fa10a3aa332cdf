#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "facts.hpp"

namespace rueda::doctor {

/// "rank 3", "ranks 0-2,5", or "all ranks" if it is all of several.
std::string ranks_text(const std::vector<int>& ranks, std::size_t of);

/// Ranks by what a text says of them, without those of which it says nothing.
std::map<std::string, std::vector<int>> ranks_by(
    const std::vector<RankFacts>& ranks, const std::function<std::string(const RankFacts&)>& text);

/// The ranks of each host, in order.
std::map<std::string, std::vector<const RankFacts*>> ranks_by_host(
    const std::vector<RankFacts>& ranks);

}  // namespace rueda::doctor
