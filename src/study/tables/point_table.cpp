#include "study/tables/point_table.hpp"

#include <fmt/ranges.h>

namespace rueda {

Table point_table(const std::string& id, const std::string& title, const StudyFigures& all,
                  const RowOf& row_of, const Texts& notes) {
  Table table{.id = id, .title = title, .notes = notes};
  for (const PointFigures* f : points_of(all)) {
    Fields fields = row_of(*f);
    if (fields.empty()) continue;
    fields.insert(fields.begin(), {{"series", "series", Show::text, f->series->label},
                                   {"ranks", "P", Show::count, double(f->ranks())},
                                   {"hosts", "hosts", Show::count, double(f->point->hosts)}});
    table.add_fields(fields);
  }
  return table;
}

Tables without_empty(Tables tables) {
  Tables filled;
  for (Table& table : tables)
    if (!table.rows.empty()) filled.push_back(std::move(table));
  return filled;
}

Cell count_cell(std::size_t count) {
  if (count == 0) return {};
  return double(count);
}

double low_of(const Estimate& estimate) {
  if (is_exact(estimate)) return kUnknown;
  return estimate.low;
}

double high_of(const Estimate& estimate) {
  if (is_exact(estimate)) return kUnknown;
  return estimate.high;
}

Cell range_cell(const Estimate& estimate, Show show) {
  if (!known(estimate) || is_exact(estimate)) return {};
  return cell_text(estimate.low, show) + " to " + cell_text(estimate.high, show);
}

std::string marks_of(const Point& point, const std::string& between) {
  Texts marks;
  if (point.processor == Processor::timed) marks.emplace_back("nothing computed");
  if (point.oversubscribed) marks.emplace_back("more threads than cores");
  if (point.includes_warm_up) marks.emplace_back("includes warm-up");
  if (point.disturbed) marks.emplace_back("disturbed");
  if (is_single_run(point)) marks.emplace_back("single run");
  return fmt::format("{}", fmt::join(marks, between));
}

}  // namespace rueda
