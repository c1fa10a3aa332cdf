#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "display/text.hpp"
#include "model/registry.hpp"
#include "rueda/data/dataset.hpp"
#include "study/layouts/layouts.hpp"

namespace rueda {
namespace {

std::size_t batch_of(const SeriesFigures* figures) { return figures->series->batch; }

/// Series that differ in their batch only, in the order of the batches.
std::vector<Group> groups_of(const StudyFigures& all) {
  std::vector<Group> groups;
  for (const SeriesFigures& figures : all) {
    const Series& series = *figures.series;
    if (series.scaling == Scaling::single) continue;
    const Subject& subject = series;
    group_of(groups, [&](const Group& group) {
      const Series& first = *group.front()->series;
      return subject == first && first.scaling == series.scaling;
    }).push_back(&figures);
  }
  for (Group& group : groups) std::ranges::stable_sort(group, {}, batch_of);
  return groups;
}

/// Bytes of an fp32 gradient: by the run, else of a network of this name for 10 classes; NaN where
/// neither is known.
double gradient_bytes(const Observation& point) {
  constexpr double kBytes = sizeof(float);
  if (!point.runs.empty() && point.runs.front()->parameters > 0)
    return kBytes * double(point.runs.front()->parameters);
  constexpr int kPixels = 32;  // the count does not depend on the pixels
  try {
    return kBytes * double(build_model(point.model, kPixels, kClasses).parameter_count());
  } catch (const InputError&) {
    return kUnknown;
  }
}

/// What the homework derives of one batch on P ranks; seconds of an epoch. NaN
/// where there was no run on one rank, or a figure is unknown.
struct Derived {
  double one_rank = kUnknown;
  double loading = kUnknown;  ///< part of `one_rank`
  double compute = kUnknown;
  double inferred = kUnknown;       ///< communication
  CommunicationFigures measured;    ///< bytes: of a gradient where nothing was measured
  double inferred_rate = kUnknown;  ///< GB/s
};

Derived derived_from(const PointFigures& base, const PointFigures& figures) {
  Derived d;
  if (base.point->ranks != 1) return d;
  const Point& point = *figures.point;
  const auto ranks = double(point.ranks);
  d.one_rank = base.point->epoch.value;
  d.loading = loading_of(base);
  double unloaded = d.one_rank;
  if (!std::isnan(d.loading)) unloaded -= d.loading;
  d.compute = unloaded / ranks;
  if (point.ranks == 1) return d;
  d.inferred = point.epoch.value - d.compute;
  d.measured = figures.communication;
  if (figures.run == nullptr) d.measured.bytes = gradient_bytes(point);
  // Every step is an all-reduce of a whole gradient.
  const double sent = 2 * (ranks - 1) / ranks * d.measured.bytes * double(point.steps);
  if (d.inferred > 0) d.inferred_rate = sent / d.inferred / 1e9;
  return d;
}

Fields figures_of(const SeriesFigures& series, const PointFigures& figures) {
  const Point& point = *figures.point;
  const Derived d = derived_from(series.points.front(), figures);
  return {{"batch", "Batch", Show::count, double(series.series->batch)},
          {"ranks", ranks_heading(point.processor), Show::count, double(point.ranks)},
          {"one_rank_s", "T(1) (s)", Show::seconds, d.one_rank},
          {"loading_s", "of this loading (s)", Show::seconds, d.loading},
          {"time_s", "T(P) (s)", Show::seconds, point.epoch.value},
          {"compute_s", "Compute (s)", Show::seconds, d.compute},
          {"inferred_s", "Comm inferred (s)", Show::seconds, d.inferred},
          {"measured_s", "Comm measured (s)", Show::seconds, d.measured.busy},
          {"exposed_s", "Comm exposed (s)", Show::seconds, d.measured.exposed},
          {"steps", "Steps", Show::count, double(point.steps)},
          {"gradient_bytes", "N (bytes)", Show::count, d.measured.bytes},
          {"bandwidth_GBps", "Bandwidth inferred (GB/s)", Show::gigabytes, d.inferred_rate},
          {"busbw_GBps", "Bandwidth measured (GB/s)", Show::gigabytes, d.measured.busbw},
          {"marks", "Marks", Show::text, marks_of(point, "; ")}};
}

std::string batch_word(const Series& s) {
  std::string whose = "global";
  if (s.scaling == Scaling::weak) whose = s.processor == Processor::gpu ? "per GPU" : "per rank";
  return fmt::format("Batch {} {}", count_text(s.batch), whose);
}

std::string about(const Series& s) {
  std::string text =
      fmt::format("{}, {}, {} scaling", s.model, to_string(s.processor), to_string(s.scaling));
  if (!s.variant.empty()) text += ", " + s.variant;
  return text + s.source_remark();
}

/// A figure that becomes a column of every batch.
struct Part : Column {
  FigureOf value;
};

FigureOf derived(const std::string& key) {
  return [key](const SeriesFigures& series, const PointFigures& point) {
    const auto fields = figures_of(series, point);
    return std::ranges::find(fields, key, &TableField::key)->cell.number();
  };
}

/// The question that asks for a table: "Question 3.1, table 2".
std::string question_of(const std::string& table) {
  constexpr std::array kQuestions = {"2", "3.1", "3.2"};
  return fmt::format("Question {}, table {}", kQuestions.at(std::stoul(table) - 1), table);
}

/// A row for each P from `fewest` on, the parts of every batch side by side.
Table wide_table(const Group& group, const std::string& number, const std::string& title,
                 const std::vector<Part>& parts, std::size_t fewest) {
  const Series& first = *group.front()->series;
  Table table{.id = "nyu_table_" + number,
              .title = fmt::format("{}: {}: {}", question_of(number), title, about(first)),
              .columns = {{"ranks", ranks_heading(first.processor), Show::count}}};
  for (const SeriesFigures* s : group) {
    for (const Part& part : parts) {
      table.columns.push_back({fmt::format("batch_{}_{}", s->series->batch, part.key),
                               batch_word(*s->series) + ": " + part.heading, part.show});
    }
  }
  add_side_by_side(table, group, values_of(parts, &Part::value), fewest);
  return table;
}

/// Every figure that tables 2 and 3 rest on.
Table details(const Group& group) {
  Table table{
      .id = "nyu_communication",
      .title = "Question 3: communication, inferred and measured: " + about(*group.front()->series),
      .notes = {"Inferred: as in tables 2 and 3. Measured: inside the all-reduce, hidden "
                "or not, mean over ranks. Exposed: the part that nothing hid.",
                "Bandwidth measured: 2 (P-1)/P x N / time of the slowest rank inside the "
                "all-reduce (busbw). N: all that a step sums."}};
  for (const SeriesFigures* s : group) {
    for (const PointFigures& point : s->points) {
      if (point.ranks() > 1) table.add_fields(figures_of(*s, point));
    }
  }
  return table;
}

Texts formulas(const Group& group) {
  Texts notes = {
      "Compute on P ranks = C / P, where C is an epoch on one rank without the loading of data but "
      "with its copy to the device.",
      "Communication = T(P) - C / P: everything that is not C / P, unevenness, loading and "
      "overheads included. Below 0 where P ranks gained more than P-fold."};
  if (std::isnan(loading_of(group.front()->points.front())))
    notes.emplace_back("Loading was not measured separately: C = T(1).");
  return notes;
}

void add_bandwidth_notes(Table& table, const Group& group) {
  table.notes.emplace_back(
      "A ring all-reduce of N bytes over P ranks with bandwidth B (1/beta) takes 2 (P-1)/P N / B; "
      "hence bandwidth = 2 (P-1)/P x N x steps / communication of an epoch. GB = 10^9 bytes. Sums "
      "in shared memory use no link: their figure is the bandwidth of an equally fast ring.");
  const Series& series = *group.front()->series;
  const double bytes = gradient_bytes(series.points.front());
  if (std::isfinite(bytes)) {
    table.notes.push_back(fmt::format(
        "N: {} parameters of {}, 4 bytes each: {} bytes; a step is one all-reduce.",
        count_text(std::size_t(bytes / 4)), series.model, count_text(std::size_t(bytes))));
  }
  Texts steps;
  for (const SeriesFigures* s : group) {
    for (const PointFigures& p : s->points) {
      if (p.ranks() == 1) continue;
      steps.push_back(fmt::format("{} x {}: {}", count_text(s->series->batch), p.ranks(),
                                  count_text(p.point->steps)));
    }
  }
  table.notes.push_back(
      fmt::format("Steps of an epoch, by batch x ranks: {}.", fmt::join(steps, ", ")));
}

double scaled_speedup_figure(const SeriesFigures&, const PointFigures& p) {
  return double(p.ranks()) * p.epoch_view.speedup.value;
}

double unloaded_figure(const SeriesFigures&, const PointFigures& p) {
  return p.point->epoch.value - loading_of(p);
}

Table time_table(const Group& group) {
  const Series& series = *group.front()->series;
  std::vector<Part> columns = {
      {"time_s", "time (sec)", Show::seconds, epoch_figure},
      {"unloaded_s", "without loading (sec)", Show::seconds, unloaded_figure},
      {"speedup", "speedup", Show::ratio, speedup_figure},
      {"scaled_speedup", "P x speedup", Show::ratio, scaled_speedup_figure}};
  if (std::isnan(loading_of(group.front()->points.front()))) columns.erase(columns.begin() + 1);
  Table table = wide_table(group, "1", "time and speedup", columns, 1);
  std::string fixed = "Strong scaling: the batch of all ranks together stays the same.";
  if (series.scaling == Scaling::weak)
    fixed = "Weak scaling: the batch of every rank stays the same.";
  table.notes = {fixed,
                 "Time: an epoch after the first, loading of data included where nothing is said.",
                 speedup_note(series) + " The homework's other definition is P x speedup."};
  return table;
}

Tables tables_of(const Group& group) {
  Table parts = wide_table(group, "2", "compute and communication",
                           {{"compute_s", "compute (sec)", Show::seconds, derived("compute_s")},
                            {"comm_s", "comm (sec)", Show::seconds, derived("inferred_s")}},
                           2);
  parts.notes = formulas(group);
  Table bandwidths = wide_table(
      group, "3", "bandwidth utilisation",
      {{"bandwidth_GBps", "bandwidth (GB/s)", Show::gigabytes, derived("bandwidth_GBps")}}, 2);
  add_bandwidth_notes(bandwidths, group);
  return {time_table(group), parts, bandwidths, details(group)};
}

}  // namespace

double loading_of(const PointFigures& figures) {
  if (figures.run == nullptr) return kUnknown;
  return figures.epoch_phases[std::size_t(Phase::load)];
}

Tables nyu_layout(const StudyFigures& all) {
  Tables tables = nyu_run_tables(all);
  std::size_t number = 0;
  for (const Group& group : groups_of(all)) {
    ++number;
    for (Table& table : tables_of(group)) {
      table.id += fmt::format("_g{}", number);
      tables.push_back(std::move(table));
    }
  }
  return tables;
}

}  // namespace rueda
