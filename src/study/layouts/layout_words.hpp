#pragma once

#include <set>
#include <string>
#include <vector>

#include "rueda/study/figures.hpp"

namespace rueda {

/// Series of a table, side by side.
using Group = std::vector<const SeriesFigures*>;

/// "GPUs" or "Ranks".
std::string ranks_heading(Processor processor);
/// The formulas of speedup and efficiency.
std::string speedup_note(const Series& series);
/// Ascending.
std::set<std::size_t> all_ranks(const Group& group);
/// Null where this P was not run. Of several with the same P the one on fewest hosts.
const PointFigures* point_at(const SeriesFigures& series, std::size_t ranks);

}  // namespace rueda
