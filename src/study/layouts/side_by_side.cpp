#include <map>

#include <fmt/format.h>

#include "study/tables/point_table.hpp"

namespace rueda {
namespace {

/// Of the first point on so many ranks; unknown where there is none.
double figure_at(const SeriesFigures& series, std::size_t ranks, const FigureOf& value) {
  const auto point = std::ranges::find(series.points, ranks, &PointFigures::ranks);
  if (point == series.points.end()) return kUnknown;
  return value(series, *point);
}

}  // namespace

double epoch_figure(const SeriesFigures&, const PointFigures& p) { return p.point->epoch.value; }
double rate_figure(const SeriesFigures&, const PointFigures& p) {
  return p.images_per_second.value;
}
double speedup_figure(const SeriesFigures&, const PointFigures& p) {
  return p.epoch_view.speedup.value;
}
double efficiency_figure(const SeriesFigures&, const PointFigures& p) {
  return p.epoch_view.efficiency.value;
}

std::string ranks_heading(Processor processor) {
  return processor == Processor::gpu ? "GPUs" : "Ranks";
}

std::string speedup_note(const Series& series) {
  const std::size_t fewest = series.points.front().ranks;
  if (fewest == 1) return "Speedup S(P) = T(1) / T(P); efficiency = S(P) / P.";
  return fmt::format("No run on one rank: speedup S(P) = {0} T({0}) / T(P); efficiency = S(P) / P.",
                     fewest);
}

void add_side_by_side(Table& table, const Group& group, const std::vector<FigureOf>& values,
                      std::size_t fewest) {
  std::map<std::size_t, std::vector<Cell>> rows;  // by P
  std::map<std::size_t, std::string> marks;       // the longest
  bool marked = false;
  for (const SeriesFigures* series : group) {
    for (const PointFigures& point : series->points) {
      rows[point.ranks()];
      const std::string mark = marks_of(*point.point, "; ");
      marked |= !mark.empty();
      if (mark.size() > marks[point.ranks()].size()) marks[point.ranks()] = mark;
    }
  }
  if (marked) table.columns.push_back({"marks", "Marks", Show::text});
  for (auto& [ranks, row] : rows) {
    if (ranks < fewest) continue;
    row = {double(ranks)};
    for (const SeriesFigures* series : group)
      for (const FigureOf& value : values) row.emplace_back(figure_at(*series, ranks, value));
    if (marked) row.emplace_back(marks[ranks]);
    table.add(std::move(row));
  }
}

}  // namespace rueda
