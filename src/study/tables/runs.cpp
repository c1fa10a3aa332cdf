#include <algorithm>
#include <cmath>

#include "rows.hpp"
#include "rueda/study/tables.hpp"

namespace rueda {
namespace {

constexpr double kHour = 3600;

/// The directory's name: what tells runs of a study apart.
std::string name_of(const std::filesystem::path& file) {
  const auto folder = file.parent_path().filename().string();
  return folder.empty() ? file.string() : folder;
}

void add_run(Table& table, const RunResult& run) {
  const auto steady = steady_epochs(run);
  table.add({name_of(run.file), run.model, double(run.world_size()), double(run.global_batch),
             double(run.epochs.size()),
             run.epochs.empty() ? Cell() : Cell(observe(run).epoch.value),
             run.epochs.empty() ? Cell() : Cell(run.epochs.back().val_accuracy), run.outcome,
             run.failure});
}

}  // namespace

Table straggler_table(const std::vector<SeriesFigures>& all) {
  Table table{.id = "stragglers",
              .title = "How even the ranks were",
              .columns = with_point({{"compute_min_seconds", "fastest rank, ms", Show::millis},
                                     {"compute_mean_seconds", "mean, ms", Show::millis},
                                     {"compute_max_seconds", "slowest rank, ms", Show::millis},
                                     {"imbalance", "slowest / mean", Show::ratio},
                                     {"slowest", "slowest", Show::text},
                                     {"step_median_seconds", "step, median, ms", Show::millis},
                                     {"step_p90_seconds", "step, p90, ms", Show::millis}}),
              .rows = {},
              .notes = {}};
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    if (!f.has_run || f.point->ranks < 2 || std::isnan(f.stragglers.compute.mean)) return;
    const StragglerFigures& s = f.stragglers;
    add_row(
        table, series, f,
        {s.compute.min, s.compute.mean, s.compute.max, s.compute.max / s.compute.mean,
         "rank " + std::to_string(s.slowest) + " on " + s.slowest_host, s.median_step, s.p90_step});
  });
  table.notes = {
      "By rank: the median of its full steps without the phase all-reduce, i.e. its own work, in "
      "the "
      "last epoch of the repeat whose epochs are nearest to the median.",
      "Step: the slowest rank's time over the steady full steps. A p90 far from the median is "
      "noise "
      "that strikes single steps; a slowest rank far from the mean is a rank that is always late."};
  return table;
}

Table cost_table(const std::vector<SeriesFigures>& all) {
  Table table{
      .id = "cost",
      .title = "Device hours and energy",
      .columns = with_point({{"device_seconds_per_epoch", "P x epoch, s", Show::seconds},
                             {"device_hours_per_100_epochs", "h for 100 epochs", Show::rate},
                             {"joules_per_epoch", "J per epoch", Show::rate},
                             {"images_per_joule", "images/J", Show::ratio}}),
      .rows = {},
      .notes = {}};
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    add_row(
        table, series, f,
        {f.device_seconds, f.device_seconds * 100 / kHour, f.joules, f.point->images / f.joules});
  });
  table.notes = {
      "Device hours: ranks x epoch time, a rank being one GPU or the threads of one rank; what is "
      "billed, without start-up and evaluation.",
      "Energy: of the GPUs during training steps, by their own counters; processors and hosts are "
      "not "
      "in it. A dash: nothing told it."};
  return table;
}

Table startup_table(const std::vector<SeriesFigures>& all) {
  std::vector<std::string> items;
  for_points(all, [&](const SeriesFigures&, const PointFigures& f) {
    for (const auto& [name, seconds] : f.startup) {
      if (std::find(items.begin(), items.end(), name) == items.end()) items.push_back(name);
    }
  });
  std::vector<Column> columns = {{"startup_seconds", "start-up, s", Show::seconds}};
  for (const std::string& item : items) columns.push_back({item + "_seconds", item, Show::seconds});
  columns.push_back({"first_epoch_seconds", "first epoch, s", Show::seconds});
  columns.push_back({"first_epoch_excess_seconds", "more than steady, s", Show::seconds});
  Table table{.id = "startup",
              .title = "Start-up and the first epoch",
              .columns = with_point(columns),
              .rows = {},
              .notes = {}};
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    if (!f.has_run && !known(f.point->first_epoch)) return;
    std::vector<Cell> cells = {f.startup_seconds > 0 ? Cell(f.startup_seconds) : Cell()};
    for (const std::string& item : items) {
      const auto found = std::find_if(f.startup.begin(), f.startup.end(),
                                      [&](const auto& one) { return one.first == item; });
      cells.push_back(found == f.startup.end() ? Cell() : Cell(found->second));
    }
    cells.push_back(f.point->first_epoch.value);
    cells.push_back(f.point->first_epoch.value - f.point->epoch.value);
    add_row(table, series, f, cells);
  });
  table.notes = {
      "Start-up: everything before the first step, of the rank that took longest; its items are "
      "each "
      "the longest of a rank, so they may add up to more. It belongs to no epoch here; frameworks "
      "book "
      "most of it on the first.",
      "First epoch: what it took beyond the steady ones went to caches, page faults, connections "
      "that "
      "were opened, and kernels that were chosen or compiled."};
  return table;
}

Table run_table(const Study& study) {
  Table table{.id = "runs",
              .title = "Runs",
              .columns = {{"run", "run", Show::text},
                          {"model", "model", Show::text},
                          {"ranks", "P", Show::count},
                          {"global_batch", "global batch", Show::count},
                          {"epochs", "epochs", Show::count},
                          {"epoch_seconds", "epoch, s", Show::seconds},
                          {"val_accuracy", "val. accuracy, %", Show::percent},
                          {"outcome", "outcome", Show::text},
                          {"message", "message", Show::text}},
              .rows = {},
              .notes = {}};
  for (const RunResult& run : study.runs) add_run(table, run);
  for (const RunResult& run : study.empty_runs) add_run(table, run);
  for (const Attempt& a : study.failed) {
    const std::size_t batch = a.global_batch > 0 ? a.global_batch : a.rank_batch * a.ranks;
    table.add({name_of(a.file), a.model, double(a.ranks), double(batch), Cell(), Cell(), Cell(),
               a.exit_code == 2 ? "refused" : "failed", a.message});
  }
  for (const Unreadable& file : study.unreadable) {
    table.add({name_of(file.file), Cell(), Cell(), Cell(), Cell(), Cell(), Cell(), "not readable",
               file.why});
  }
  return table;
}

}  // namespace rueda
