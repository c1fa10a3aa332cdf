#include "rows.hpp"

namespace rueda {

std::vector<Column> point_columns() {
  return {{"series", "series", Show::text},
          {"ranks", "P", Show::count},
          {"hosts", "hosts", Show::count}};
}

std::vector<Cell> point_cells(const SeriesFigures& series, const PointFigures& point) {
  return {series.series->label, double(point.point->ranks), double(point.point->hosts)};
}

std::vector<Column> with_point(const std::vector<Column>& columns) {
  std::vector<Column> all = point_columns();
  all.insert(all.end(), columns.begin(), columns.end());
  return all;
}

Cell range_cell(const Estimate& estimate, Show show) {
  if (!known(estimate) || is_exact(estimate)) return {};
  return cell_text(estimate.low, show) + " to " + cell_text(estimate.high, show);
}

void add_row(Table& table, const SeriesFigures& series, const PointFigures& point,
             const std::vector<Cell>& cells) {
  std::vector<Cell> row = point_cells(series, point);
  row.insert(row.end(), cells.begin(), cells.end());
  table.add(std::move(row));
}

}  // namespace rueda
