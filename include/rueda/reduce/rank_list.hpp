#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rueda {

/// "rank 2", "ranks 0 and 2", "ranks 0, 2 and 5".
std::string rank_list(const std::vector<std::size_t>& ranks);

}  // namespace rueda
