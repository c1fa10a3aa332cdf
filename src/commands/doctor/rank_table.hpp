#pragma once

#include <string>
#include <vector>

#include "facts.hpp"
#include "rueda/display/text_table.hpp"

namespace rueda::doctor {

/// The cells of one rank, without its number.
struct RankRow {
  int rank = 0;
  std::vector<std::string> cells;
};

/// Ranks that have a line each; of more, those that are alike share one.
inline constexpr std::size_t kMostLines = 16;

/// A table with a line for each rank up to kMostLines; beyond, ranks whose cells agree share one,
/// and after so many lines the rest is counted.
std::string rank_table(std::vector<std::string> head, std::vector<Align> align,
                       const std::vector<RankRow>& rows);

/// Both ends of a long host name: some names begin with a number, others end with one.
std::string short_host(const std::string& name);

/// " memory to the right neighbour" and a table of the links by rank; of more than sixteen the
/// best, the median and the worst.
std::string link_table(const std::vector<LinkFacts>& links);

}  // namespace rueda::doctor
