#pragma once

#include <string>
#include <vector>

namespace rueda {

/// Lines for the start of a run: what the data reader remarked, then each rank's own remark (empty:
/// none), one that equals its predecessor's once.
std::vector<std::string> remark_lines(const std::vector<std::string>& of_data,
                                      const std::vector<std::string>& of_ranks);

}  // namespace rueda
