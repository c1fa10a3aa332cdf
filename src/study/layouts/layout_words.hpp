#pragma once

#include <set>
#include <string>
#include <vector>

#include "rueda/study/table.hpp"
#include "study/figures.hpp"

namespace rueda {

/// "GPUs" or "Ranks".
std::string ranks_heading(Processor processor);
/// "GPU", "CPU", "timed".
std::string processor_word(Processor processor);
/// What was kept while P grew.
std::string scaling_note(const Series& series);
/// The formulas of speedup and efficiency.
std::string speedup_note(const Series& series);
/// "more threads than cores", "includes warm-up".
std::string remark(const Point& point);
/// Ascending.
std::set<std::size_t> all_ranks(const std::vector<const SeriesFigures*>& group);
/// Nothing where this P was not run. Of several with the same P the one on fewest hosts.
const PointFigures* point_at(const SeriesFigures& series, std::size_t ranks);

}  // namespace rueda
