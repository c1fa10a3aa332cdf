#pragma once

#include <cstddef>
#include <string>

#include "options.hpp"

namespace rueda::bench {

/// Above, what is printed cannot be read.
inline constexpr int kMostExplainedRanks = 16;

/// Who sends which chunk to whom at each step, what every rank holds after it, and what it costs
/// beside the least that is possible. Without MPI: from the plan that the ring goes by, and by
/// watching the others at work. Throws InputError for those that cannot be watched.
std::string explain(const BenchExplainOptions& options);

}  // namespace rueda::bench
