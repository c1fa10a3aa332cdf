#pragma once

#include <functional>
#include <string>
#include <vector>

#include "study/figures.hpp"
#include "study/report.hpp"
#include "study/table.hpp"

namespace rueda {

/// The fields of a point, the same columns for all; none where its row is left out.
using RowOf = std::function<Fields(const PointFigures&)>;

/// A table of all points, in order: series, P and hosts, then the fields of `row_of`.
Table point_table(const std::string& id, const std::string& title, const StudyFigures& all,
                  const RowOf& row_of, const Texts& notes);

/// Of every series, in order.
inline std::vector<const PointFigures*> points_of(const StudyFigures& all) {
  std::vector<const PointFigures*> points;
  for (const SeriesFigures& series : all)
    for (const PointFigures& point : series.points) points.push_back(&point);
  return points;
}

/// Nothing where a count is 0, which means unknown.
Cell count_cell(std::size_t count);
/// "13.55 to 13.70"; nothing where low and high are the same.
Cell range_cell(const Estimate& estimate, Show show);

/// Bounds of a range; nothing where low and high are the same.
double low_of(const Estimate& estimate);
double high_of(const Estimate& estimate);

/// "nothing computed", "more threads than cores", "includes warm-up" and what else limits a point,
/// apart by `between`.
std::string marks_of(const Point& point, const std::string& between);

/// Those that have a row.
Tables without_empty(Tables tables);

/// The serial fraction of every series that has a base, by Amdahl, Karp and Flatt, and Gustafson.
Table serial_table(const StudyFigures& all);

/// All tables of points but those of cost and start-up.
Tables point_tables(const StudyFigures& all);

// What all hand-ins have.

/// Series of a table, side by side.
using Group = std::vector<const SeriesFigures*>;
using FigureOf = std::function<double(const SeriesFigures&, const PointFigures&)>;

double epoch_figure(const SeriesFigures& series, const PointFigures& point);
double rate_figure(const SeriesFigures& series, const PointFigures& point);
double speedup_figure(const SeriesFigures& series, const PointFigures& point);
double efficiency_figure(const SeriesFigures& series, const PointFigures& point);

/// "GPUs" or "Ranks".
std::string ranks_heading(Processor processor);
/// The formulas of speedup and efficiency.
std::string speedup_note(const Series& series);
/// A row for each P from `fewest` on: P, then the values of each series;
/// nothing where this P was not run. Of several points with the same P the one
/// on fewest hosts. A last column has their marks, if there are any.
void add_side_by_side(Table& table, const Group& group, const std::vector<FigureOf>& values,
                      std::size_t fewest = 1);

}  // namespace rueda
