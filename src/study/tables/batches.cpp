#include <map>
#include <tuple>

#include "rows.hpp"
#include "rueda/study/tables.hpp"

namespace rueda {
namespace {

/// Memory of the rank that holds most.
double most_memory(const Point& point) {
  double most = kUnknown;
  for (const RunResult* run : point.runs) {
    for (const RankResult& rank : run->ranks) {
      if (!(most >= rank.memory_bytes)) most = rank.memory_bytes;
    }
  }
  return most;
}

using Place = std::tuple<std::string, std::string, std::size_t, std::size_t>;

bool was_memory(const Attempt& attempt) {
  return attempt.message.find("memory") != std::string::npos;
}

/// One row for each batch and P of a model, in order.
using Rows = std::map<Place, std::vector<Cell>>;

void add_points(Rows& rows, const std::vector<SeriesFigures>& all) {
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    const Point& p = *f.point;
    if (p.rank_batch == 0) return;
    const std::string name =
        series.series->model +
        (series.series->variant.empty() ? "" : ", " + series.series->variant) +
        (series.series->source == "rueda" ? "" : " (" + series.series->source + ")");
    rows[{name, to_string(Scaling::weak), p.ranks, p.rank_batch}] = {name,
                                                                     double(p.ranks),
                                                                     double(p.rank_batch),
                                                                     double(p.global_batch),
                                                                     f.images_per_second.value,
                                                                     p.epoch.value,
                                                                     p.full_step.value,
                                                                     most_memory(p),
                                                                     Cell()};
  });
}

void add_refused(Rows& rows, const Study& study) {
  for (const Attempt& a : study.failed) {
    const std::size_t batch = a.rank_batch > 0 ? a.rank_batch : a.global_batch / a.ranks;
    rows[{a.model, to_string(Scaling::weak), a.ranks, batch}] = {
        a.model,
        double(a.ranks),
        double(batch),
        double(batch * a.ranks),
        Cell(),
        Cell(),
        Cell(),
        Cell(),
        was_memory(a) ? "refused: memory" : "failed"};
  }
}

}  // namespace

Table batch_table(const Study& study, const std::vector<SeriesFigures>& all) {
  Table table{.id = "batches",
              .title = "Throughput over the batch",
              .columns = {{"model", "model", Show::text},
                          {"ranks", "P", Show::count},
                          {"rank_batch", "batch per rank", Show::count},
                          {"global_batch", "global batch", Show::count},
                          {"images_per_second", "images/s", Show::rate},
                          {"epoch_seconds", "epoch, s", Show::seconds},
                          {"full_step_seconds", "full step, ms", Show::millis},
                          {"memory_bytes", "memory of a rank", Show::bytes},
                          {"marks", "marks", Show::text}},
              .rows = {},
              .notes = {}};
  Rows rows;
  add_points(rows, all);
  add_refused(rows, study);
  for (auto& [place, cells] : rows) table.add(cells);
  table.notes = {
      "Memory: what training holds on the device of the rank that holds most. *Refused*: the plan "
      "of "
      "this batch did not fit into what was free, so that nothing was begun."};
  return table;
}

std::vector<Table> study_tables(const Study& study, const std::vector<SeriesFigures>& all) {
  std::vector<Table> tables = {
      scaling_table(all), step_table(all),    communication_table(all), bandwidth_table(all),
      phase_table(all),   loss_table(all),    serial_table(all),        straggler_table(all),
      cost_table(all),    startup_table(all), batch_table(study, all),  run_table(study)};
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
  return tables;
}

}  // namespace rueda
