#include "remarks.hpp"

#include <cstddef>

namespace rueda {

std::vector<std::string> remark_lines(const std::vector<std::string>& of_data,
                                      const std::vector<std::string>& of_ranks) {
  std::vector<std::string> lines;
  for (const std::string& remark : of_data) lines.push_back("note: " + remark);
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const bool repeated = rank > 0 && of_ranks[rank] == of_ranks[rank - 1];
    if (of_ranks[rank].empty() || repeated) continue;
    lines.push_back("note: rank " + std::to_string(rank) + ": " + of_ranks[rank]);
  }
  return lines;
}

}  // namespace rueda
