#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rueda/study/figures.hpp"
#include "rueda/study/table.hpp"

namespace rueda {

/// Series of a table, side by side.
using Group = std::vector<const SeriesFigures*>;
using FigureOf = std::function<double(const SeriesFigures&, const PointFigures&)>;

/// "GPUs" or "Ranks".
std::string ranks_heading(Processor processor);
/// The formulas of speedup and efficiency.
std::string speedup_note(const Series& series);
/// A row for each P from `fewest` on: P, then the values of each series; nothing where this P was
/// not run. Of several points with the same P the one on fewest hosts.
void add_side_by_side(Table& table, const Group& group, const std::vector<FigureOf>& values,
                      std::size_t fewest = 1);

}  // namespace rueda
