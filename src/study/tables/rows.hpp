#pragma once

#include <string>
#include <vector>

#include "rueda/study/table.hpp"
#include "study/figures.hpp"

namespace rueda {

/// The columns and cells by which every table names a point: series, P, hosts.
std::vector<Column> point_columns();
std::vector<Cell> point_cells(const SeriesFigures& series, const PointFigures& point);

/// `columns` behind those of the point.
std::vector<Column> with_point(const std::vector<Column>& columns);

/// "13.55 to 13.70"; nothing where low and high are the same.
Cell range_cell(const Estimate& estimate, Show show);

/// Calls `add(series, point)` for every point, in order.
template <typename Add>
void for_points(const std::vector<SeriesFigures>& all, Add add) {
  for (const SeriesFigures& series : all) {
    for (const PointFigures& point : series.points) add(series, point);
  }
}

/// `cells` behind those of the point.
void add_row(Table& table, const SeriesFigures& series, const PointFigures& point,
             const std::vector<Cell>& cells);

}  // namespace rueda
