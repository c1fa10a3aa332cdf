#include <cmath>

#include "rows.hpp"
#include "rueda/study/tables.hpp"

namespace rueda {
namespace {

/// "all_reduce" as people write it.
std::string phase_heading(std::size_t phase) {
  const std::string name(kPhaseNames[phase]);
  return name == "all_reduce" ? "all-reduce" : name;
}

/// Phases in which no time was spent anywhere would be columns of zeros.
std::vector<std::size_t> phases_with(const std::vector<SeriesFigures>& all) {
  std::vector<std::size_t> used;
  for (std::size_t p = 0; p < kPhases; ++p) {
    bool any = false;
    for_points(all, [&](const SeriesFigures&, const PointFigures& f) {
      any = any || (f.has_run && f.step_phases[p] > 0);
    });
    if (any) used.push_back(p);
  }
  return used;
}

}  // namespace

Table phase_table(const std::vector<SeriesFigures>& all) {
  const auto used = phases_with(all);
  std::vector<Column> columns;
  for (const std::size_t p : used) {
    columns.push_back(
        {std::string(kPhaseNames[p]) + "_seconds", phase_heading(p) + ", ms", Show::millis});
  }
  columns.push_back({"step_seconds", "step, ms", Show::millis});
  Table table{.id = "phases",
              .title = "Where the time of a full step goes",
              .columns = with_point(columns),
              .rows = {},
              .notes = {}};
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    if (!f.has_run || !std::isfinite(f.step_phases[0])) return;
    std::vector<Cell> cells;
    double sum = 0;
    for (const std::size_t p : used) cells.push_back(f.step_phases[p]);
    for (const double seconds : f.step_phases) sum += seconds;
    cells.push_back(sum);
    add_row(table, series, f, cells);
  });
  table.notes = {
      "Mean over the full steps of the steady epochs and over ranks, of the repeat whose epochs "
      "are "
      "nearest to the median; the phases follow each other "
      "and "
      "add up to the step. all-reduce is the exposed part: what the step waited for it.",
      "load: making the batch, or waiting for it; copy: waiting for its way to the device; other: "
      "bookkeeping."};
  return table;
}

Table loss_table(const std::vector<SeriesFigures>& all) {
  const auto used = phases_with(all);
  std::vector<Column> columns = {{"lost_seconds", "lost, s", Show::seconds},
                                 {"lost_share", "of epoch, %", Show::percent}};
  for (const std::size_t p : used) {
    columns.push_back(
        {std::string(kPhaseNames[p]) + "_lost_seconds", phase_heading(p) + ", s", Show::seconds});
  }
  columns.push_back({"waiting_seconds", "of it waiting, s", Show::seconds});
  columns.push_back({"rest_seconds", "rest, s", Show::seconds});
  Table table{.id = "losses",
              .title = "What the lost efficiency consists of",
              .columns = with_point(columns),
              .rows = {},
              .notes = {}};
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    const auto loss = losses(series, f);
    if (!loss) return;
    std::vector<Cell> cells = {loss->lost, loss->lost / f.point->epoch.value};
    for (const std::size_t p : used) cells.push_back(loss->phases[p]);
    cells.push_back(loss->waiting);
    cells.push_back(loss->rest);
    add_row(table, series, f, cells);
  });
  table.notes = {
      "Lost: T(P) - T(P0) P0/P, seconds of an epoch beside ideal scaling. A phase explains what it "
      "takes of an epoch beyond its share P0/P of the fewest ranks' seconds; a negative figure is "
      "time "
      "won. The phases and the rest add up to what was lost.",
      "Of it waiting: of the all-reduce's part, waiting for ranks that were later, in proportion "
      "to "
      "waiting in the whole all-reduce.",
      "Rest: unevenness of the ranks and what lies between steps."};
  return table;
}

}  // namespace rueda
