#pragma once

#include <cstddef>
#include <string>

#include "options.hpp"

namespace rueda::bench {

/// Above, what is printed cannot be read.
inline constexpr int kMostExplainedRanks = 16;

/// Who sends which chunk to whom at each step, what every rank holds after it, and what it costs
/// beside the least that is possible. Without MPI: from the plans that the all-reduces go by.
/// Throws InputError for an algorithm that has none.
std::string explain(const BenchExplainOptions& options);

}  // namespace rueda::bench
