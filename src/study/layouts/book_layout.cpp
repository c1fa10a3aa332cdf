#include <iterator>

#include <fmt/format.h>

#include "display/text.hpp"
#include "study/tables/point_table.hpp"

namespace rueda {
namespace {

/// Task 10.3 wants the steady epoch on a CPU as the reference of all that follows.
Table cpu_baseline(const Observations& observations) {
  Table table{.id = "book_task_10_3",
              .title = "Task 10.3: the CPU as baseline",
              .notes = {"One rank. Steady: median of the epochs after the first.",
                        "Options, processor: what differs between the runs of the study."}};
  for (const Observation& o : observations) {
    if (o.ranks != 1 || o.processor != Processor::cpu) continue;
    table.add_fields(
        {{"model", "Model", Show::text, o.model},
         {"image_size", "Pixels", Show::count, count_cell(o.image_size)},
         {"source", "Source", Show::text, o.source},
         {"batch", "Batch", Show::count, count_cell(o.global_batch)},
         {"first_epoch_s", "First epoch (s)", Show::seconds, o.first_epoch.value},
         {"epoch_s", "Steady epoch (s)", Show::seconds, o.epoch.value},
         {"images_per_second", "Throughput (images/s)", Show::rate, per(o.images, o.epoch).value},
         {"variant", "Options, processor", Show::text, o.variant}});
  }
  return table;
}

Table acceleration(const Observations& observations) {
  Table table = acceleration_table(observations);
  table.id = "book_task_10_4";
  table.title = "Task 10.4: acceleration, " + table.title.substr(table.title.find(": ") + 2);
  return table;
}

/// Images of the last step of an epoch, if they are known.
double last_step(const Point& point) {
  if (point.steps == 0 || std::isnan(point.images)) return kUnknown;
  return point.images - double(point.steps - 1) * double(point.global_batch);
}

Fields scaling_fields(const PointFigures& figures, bool printed) {
  const Point& point = *figures.point;
  const Estimate& efficiency = figures.epoch_view.efficiency;
  Fields fields = {
      {"ranks", ranks_heading(point.processor), Show::count, double(point.ranks)},
      {"epoch_s", "Time (s)", Show::seconds, point.epoch.value},
      {"images_per_second", "Throughput (images/s)", Show::rate, figures.images_per_second.value},
      {"speedup", "Speedup", Show::ratio, figures.epoch_view.speedup.value},
      {"efficiency", "Efficiency (%)", Show::percent, efficiency.value},
      {"efficiency_low", "at least", Show::percent, low_of(efficiency)},
      {"efficiency_high", "at most", Show::percent, high_of(efficiency)}};
  if (printed) {
    const auto [speedup, share] = epoch_speedup(*figures.series, point, &Point::printed_epoch);
    fields.insert(
        fields.end(),
        {{"printed_epoch_s", "Time as printed (s)", Show::text, point.printed_epoch.value},
         {"printed_speedup", "Speedup as printed", Show::ratio, speedup.value},
         {"printed_efficiency", "Efficiency as printed (%)", Show::percent, share.value},
         {"printed_efficiency_low", "at least", Show::percent, low_of(share)},
         {"printed_efficiency_high", "at most", Show::percent, high_of(share)}});
  }
  fields.insert(fields.end(),
                {{"batch", "Batch", Show::count, count_cell(point.global_batch)},
                 {"steps", "Steps", Show::count, count_cell(point.steps)},
                 {"last_step_images", "Images of the last step", Show::count, last_step(point)},
                 {"remark", "Remark", Show::text, marks_of(point, ", ")}});
  return fields;
}

std::string scaling_note(const Series& series) {
  const std::string images = count_text(series.batch);
  if (series.scaling == Scaling::strong)
    return fmt::format("Strong scaling: {} images per step over all ranks.", images);
  return fmt::format(
      "Weak scaling: {} images per step on every rank; with more ranks an epoch has fewer steps.",
      images);
}

/// Whether a log has rounded times of epochs.
bool has_printed_times(const Series& series) {
  for (const Point& point : series.points)
    if (known(point.printed_epoch)) return true;
  return false;
}

/// `number`: of the task in its chapter.
Table task_table(const SeriesFigures& figures, int number) {
  const Series& series = *figures.series;
  const bool printed = has_printed_times(series);
  Table table{
      .id = fmt::format("book_task_10_{}_{}", number, series.id),
      .title = fmt::format("Task 10.{}: {}", number, series.label),
      .notes = {scaling_note(series),
                "Time: an epoch, steady (median of the epochs after the first). Throughput = "
                "images of an epoch / time, over all ranks.",
                speedup_note(series), "At least and at most: what repeats or rounding leave."}};
  for (const PointFigures& point : figures.points) table.add_fields(scaling_fields(point, printed));
  if (printed) {
    table.notes.emplace_back(
        "As printed: from the rounded seconds of an epoch alone. The figures before them use the "
        "printed time per step, too, where there is one.");
  }
  return table;
}

/// A figure of all series, a series a column, as figures 10.12 to 10.15 draw it.
Table side_by_side(const Group& group, const std::string& id, const std::string& title, Show show,
                   const FigureOf& value) {
  Table table{.id = "book_task_10_7_" + id,
              .title = "Task 10.7: " + title,
              .columns = {{"ranks", "P", Show::count}},
              .notes = {"Definitions as in the tables of tasks 10.5 and 10.6."}};
  for (const SeriesFigures* s : group)
    table.columns.push_back({s->series->id, s->series->label, show});
  add_side_by_side(table, group, {value});
  return table;
}

Tables comparisons(const Group& group) {
  return {side_by_side(group, "epoch_time", "epoch time (s)", Show::seconds, epoch_figure),
          side_by_side(group, "throughput", "throughput (images/s)", Show::rate, rate_figure),
          side_by_side(group, "speedup", "speedup", Show::ratio, speedup_figure),
          side_by_side(group, "efficiency", "efficiency (%)", Show::percent, efficiency_figure)};
}

/// Task 10.5 is about ResNet50V2; in a study without it about the first model.
std::string first_model(const Group& group) {
  for (const SeriesFigures* s : group)
    if (s->series->model == "resnet50v2") return s->series->model;
  return group.front()->series->model;
}

}  // namespace

Tables book_layout(const StudyFigures& all, const Observations& observations) {
  Tables tables = without_empty({cpu_baseline(observations), acceleration(observations)});
  Group group;
  for (const SeriesFigures& series : all)
    if (series.series->scaling != Scaling::single) group.push_back(&series);
  if (group.empty()) return tables;
  const std::string first = first_model(group);
  for (const SeriesFigures* s : group)
    if (s->series->model == first) tables.push_back(task_table(*s, 5));
  for (const SeriesFigures* s : group)
    if (s->series->model != first) tables.push_back(task_table(*s, 6));
  if (group.size() > 1) std::ranges::move(comparisons(group), std::back_inserter(tables));
  return tables;
}

}  // namespace rueda
