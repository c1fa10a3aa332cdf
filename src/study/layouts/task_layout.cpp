#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "display/text.hpp"
#include "study/layouts/layouts.hpp"

namespace rueda {
namespace {

/// Which task of a course asks for which table; empty: none.
struct Course {
  std::string name;  ///< as --layout has it
  std::string baseline, acceleration;
  std::string first, larger, comparison;
  std::string third = {};  ///< ResNet101V2; without a task it is one of the larger models
  std::string laws = {}, third_laws = {};
};

const std::vector<Course> kCourses = {
    {"book", "10.3", "10.4", "10.5", "10.6", "10.7"},
    {"sa-miri", "10.3", "10.4", "10.6", "10.7", "10.8", "10.9", "10.10", "10.11"},
    {"lab5", "2", "3", "6", "7", "8"}};

constexpr const char* kFirstModel = "resnet50v2";
constexpr const char* kThirdModel = "resnet101v2";

/// "sa_miri_task_10_3"
std::string task_id(const Course& course, const std::string& number) {
  std::string id = course.name + "_task_" + number;
  std::ranges::replace_if(
      id, [](char c) { return c == '-' || c == '.'; }, '_');
  return id;
}

std::string task_title(const std::string& number, const std::string& what) {
  return "Task " + number + ": " + what;
}

/// The steady epoch on a CPU, the reference of all that follows.
Table cpu_baseline(const Course& course, const Observations& observations) {
  Table table{.id = task_id(course, course.baseline),
              .title = task_title(course.baseline, "the CPU as baseline"),
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

Table acceleration(const Course& course, const Observations& observations) {
  Table table = acceleration_table(observations);
  table.id = task_id(course, course.acceleration);
  table.title = task_title(course.acceleration,
                           "acceleration, " + table.title.substr(table.title.find(": ") + 2));
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

Table task_table(const Course& course, const std::string& number, const SeriesFigures& figures) {
  const Series& series = *figures.series;
  const bool printed = has_printed_times(series);
  Table table{
      .id = task_id(course, number) + "_" + series.id,
      .title = task_title(number, series.label),
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

/// A figure of all series, a series a column, as figures 10.12 to 10.15 of the book draw it.
Table side_by_side(const Group& group, const std::string& title, Show show, const FigureOf& value) {
  Table table{.id = "",
              .title = title,
              .columns = {{"ranks", "P", Show::count}},
              .notes = {"Definitions as in the tables of each model."}};
  for (const SeriesFigures* s : group)
    table.columns.push_back({s->series->id, s->series->label, show});
  add_side_by_side(table, group, {value});
  return table;
}

/// The four figures of series to be compared; none of a single one.
Tables comparisons(const Course& course, const std::string& number, const Group& group) {
  if (group.size() < 2) return {};
  Tables tables = {side_by_side(group, "epoch time (s)", Show::seconds, epoch_figure),
                   side_by_side(group, "throughput (images/s)", Show::rate, rate_figure),
                   side_by_side(group, "speedup", Show::ratio, speedup_figure),
                   side_by_side(group, "efficiency (%)", Show::percent, efficiency_figure)};
  constexpr std::array kIds = {"epoch_time", "throughput", "speedup", "efficiency"};
  for (std::size_t i = 0; i < tables.size(); ++i) {
    tables[i].id = task_id(course, number) + "_" + kIds[i];
    tables[i].title = task_title(number, tables[i].title);
  }
  return tables;
}

/// What Amdahl, Karp and Flatt, and Gustafson say of these series.
Table laws(const Course& course, const std::string& number, const Group& group) {
  StudyFigures figures;
  for (const SeriesFigures* s : group) figures.push_back(*s);
  Table table = serial_table(figures);
  table.id = task_id(course, number);
  table.title = task_title(number, "Amdahl's and Gustafson's laws");
  return table;
}

void append(Tables& tables, Tables more) { std::ranges::move(more, std::back_inserter(tables)); }

/// The series of a study by the task that is about them.
struct Groups {
  Group all, first, larger, third;
};

Groups groups_of(const Course& course, const StudyFigures& all) {
  Groups groups;
  for (const SeriesFigures& series : all)
    if (series.series->scaling != Scaling::single) groups.all.push_back(&series);
  if (groups.all.empty()) return groups;
  const auto is_model = [](const char* model) {
    return [model](const SeriesFigures* s) { return s->series->model == model; };
  };
  std::string first = groups.all.front()->series->model;
  if (std::ranges::any_of(groups.all, is_model(kFirstModel))) first = kFirstModel;
  for (const SeriesFigures* s : groups.all) {
    if (s->series->model == first)
      groups.first.push_back(s);
    else if (s->series->model == kThirdModel && !course.third.empty())
      groups.third.push_back(s);
    else
      groups.larger.push_back(s);
  }
  return groups;
}

Tables tables_of(const Course& course, const StudyFigures& all, const Observations& observations) {
  Tables tables = {cpu_baseline(course, observations), acceleration(course, observations)};
  const Groups groups = groups_of(course, all);
  for (const SeriesFigures* s : groups.first)
    tables.push_back(task_table(course, course.first, *s));
  for (const SeriesFigures* s : groups.larger)
    tables.push_back(task_table(course, course.larger, *s));
  Group two = groups.first;
  two.insert(two.end(), groups.larger.begin(), groups.larger.end());
  append(tables, comparisons(course, course.comparison, two));
  if (!groups.third.empty()) {
    for (const SeriesFigures* s : groups.third)
      tables.push_back(task_table(course, course.third, *s));
    append(tables, comparisons(course, course.third, groups.all));
  }
  if (!course.laws.empty()) {
    tables.push_back(laws(course, course.laws, two));
    tables.push_back(laws(course, course.third_laws, groups.third));
  }
  return without_empty(std::move(tables));
}

}  // namespace

std::vector<std::string> layout_names() {
  std::vector<std::string> names = values_of(kCourses, &Course::name);
  names.emplace_back("nyu");
  return names;
}

Tables layout_tables(const std::string& layout, const StudyFigures& all,
                     const Observations& observations) {
  const auto course = std::ranges::find(kCourses, layout, &Course::name);
  if (course == kCourses.end()) return nyu_layout(all);
  return tables_of(*course, all, observations);
}

}  // namespace rueda
