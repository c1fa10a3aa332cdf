#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "layout_words.hpp"
#include "rueda/core/error.hpp"
#include "rueda/display/number_text.hpp"
#include "rueda/model/registry.hpp"
#include "rueda/study/report.hpp"

namespace rueda {
namespace {

/// Series that differ in their batch only, in the order of the batches.
std::vector<Group> groups_of(const std::vector<SeriesFigures>& all) {
  std::vector<Group> groups;  // as they were given
  for (const SeriesFigures& figures : all) {
    const Series& series = *figures.series;
    if (series.scaling == Scaling::single) continue;
    const auto found = std::ranges::find_if(groups, [&](const Group& group) {
      const Series& first = *group.front()->series;
      return Subject(first) == Subject(series) && first.scaling == series.scaling;
    });
    (found == groups.end() ? groups.emplace_back() : *found).push_back(&figures);
  }
  for (Group& group : groups)
    std::ranges::stable_sort(group, {}, [](const SeriesFigures* s) { return s->series->batch; });
  return groups;
}

/// Bytes of an fp32 gradient of a network by its name for 10 classes; NaN for an unknown one.
double gradient_bytes(const std::string& model) {
  constexpr int kPixels = 32, kClasses = 10;  // the count does not depend on the pixels
  constexpr double kFloat = 4;
  try {
    return kFloat * double(build_model(model, kPixels, kClasses).parameter_count());
  } catch (const InputError&) {
    return kUnknown;
  }
}

/// What the homework derives of one batch on P ranks; seconds of an epoch. NaN where there was no
/// run on one rank, or a figure is unknown.
struct NyuFigures {
  double batch = kUnknown;      ///< of the series
  double ranks = kUnknown;      ///< P
  double one_rank = kUnknown;   ///< T(1), everything included
  double loading = kUnknown;    ///< of this, exposed loading of data; NaN if not measured
  double time = kUnknown;       ///< T(P)
  double speedup = kUnknown;    ///< in the epoch view
  double compute = kUnknown;    ///< (T(1) - loading) / P; T(1) / P without `loading`
  double inferred = kUnknown;   ///< communication: T(P) - compute
  double measured = kUnknown;   ///< inside the all-reduce
  double exposed = kUnknown;    ///< what steps waited for it
  double steps = kUnknown;      ///< of an epoch: all-reduces of a whole gradient
  double bytes = kUnknown;      ///< of a gradient
  double bandwidth = kUnknown;  ///< GB/s, from `inferred`; NaN if that is not above 0
  double busbw = kUnknown;      ///< GB/s, measured
};

NyuFigures nyu_figures(const SeriesFigures& series, const PointFigures& point) {
  const PointFigures& base = series.points.front();
  NyuFigures f;
  f.batch = double(series.series->batch);
  f.ranks = double(point.point->ranks);
  f.time = point.point->epoch.value;
  f.speedup = point.epoch_view.speedup.value;
  f.steps = double(point.point->steps);
  if (base.point->ranks != 1) return f;
  f.one_rank = base.point->epoch.value;
  if (base.run != nullptr) f.loading = base.epoch_phases[std::size_t(Phase::load)];
  f.compute = (f.one_rank - (std::isnan(f.loading) ? 0 : f.loading)) / f.ranks;
  if (f.ranks == 1) return f;
  const CommunicationFigures& c = point.communication;
  f.inferred = f.time - f.compute;
  f.measured = c.measured;
  f.exposed = c.exposed;
  f.busbw = c.busbw;
  f.bytes = point.run != nullptr ? c.bytes_per_step : gradient_bytes(series.series->model);
  const double sent = 2 * (f.ranks - 1) / f.ranks * f.bytes * f.steps;
  if (f.inferred > 0) f.bandwidth = sent / f.inferred / 1e9;
  return f;
}

std::string batch_word(const Series& s) {
  const std::string one = s.processor == Processor::gpu ? "GPU" : "rank";
  return fmt::format("Batch {} {}", count_text(s.batch),
                     s.scaling == Scaling::weak ? "per " + one : "global");
}

std::string batch_key(const Series& s) { return fmt::format("batch_{}_", s.batch); }

std::string about(const Series& s) {
  std::string text =
      fmt::format("{}, {}, {} scaling", s.model, to_string(s.processor), to_string(s.scaling));
  if (!s.variant.empty()) text += ", " + s.variant;
  return text + (s.source == "rueda" ? "" : " (" + s.source + ")");
}

/// A figure that becomes a column.
struct Part {
  std::string key;
  std::string heading;
  Show show;
  double NyuFigures::*value;
};

/// A row for each P from `fewest` on, the parts of every batch side by side.
Table wide_table(const Group& group, const std::string& number, const std::string& title,
                 const std::vector<Part>& parts, std::size_t fewest) {
  const Series& first = *group.front()->series;
  Table table{.id = "nyu_table_" + number,
              .title = fmt::format("Table {}: {}: {}", number, title, about(first)),
              .columns = {{"ranks", ranks_heading(first.processor), Show::count}}};
  for (const SeriesFigures* s : group) {
    for (const Part& part : parts) {
      table.columns.push_back({batch_key(*s->series) + part.key,
                               batch_word(*s->series) + ": " + part.heading, part.show});
    }
  }
  for (const std::size_t ranks : all_ranks(group)) {
    if (ranks < fewest) continue;
    std::vector<Cell> row = {double(ranks)};
    for (const SeriesFigures* s : group) {
      const PointFigures* point = point_at(*s, ranks);
      const NyuFigures figures = point == nullptr ? NyuFigures{} : nyu_figures(*s, *point);
      for (const Part& part : parts) row.emplace_back(figures.*part.value);
    }
    table.add(std::move(row));
  }
  return table;
}

/// Every figure that tables 2 and 3 rest on.
Table details(const Group& group) {
  using F = NyuFigures;
  const Series& first = *group.front()->series;
  const std::vector<Part> parts = {
      {"batch", "Batch", Show::count, &F::batch},
      {"ranks", ranks_heading(first.processor), Show::count, &F::ranks},
      {"one_rank_s", "T(1) (s)", Show::seconds, &F::one_rank},
      {"loading_s", "of this loading (s)", Show::seconds, &F::loading},
      {"time_s", "T(P) (s)", Show::seconds, &F::time},
      {"compute_s", "Compute (s)", Show::seconds, &F::compute},
      {"inferred_s", "Comm inferred (s)", Show::seconds, &F::inferred},
      {"measured_s", "Comm measured (s)", Show::seconds, &F::measured},
      {"exposed_s", "Comm exposed (s)", Show::seconds, &F::exposed},
      {"steps", "Steps", Show::count, &F::steps},
      {"gradient_bytes", "Gradient", Show::bytes, &F::bytes},
      {"bandwidth_GBps", "Bandwidth inferred (GB/s)", Show::gigabytes, &F::bandwidth},
      {"busbw_GBps", "Bandwidth measured (GB/s)", Show::gigabytes, &F::busbw}};
  Table table{.id = "nyu_communication",
              .title = "Communication, inferred and measured: " + about(first)};
  for (const Part& part : parts) table.columns.push_back({part.key, part.heading, part.show});
  for (const SeriesFigures* s : group) {
    for (const PointFigures& point : s->points) {
      if (point.point->ranks == 1) continue;
      const NyuFigures figures = nyu_figures(*s, point);
      std::vector<Cell> row;
      for (const Part& part : parts) row.emplace_back(figures.*part.value);
      table.add(std::move(row));
    }
  }
  table.notes = {
      "Inferred: as in tables 2 and 3. Measured: inside the all-reduce, hidden or not, mean over "
      "ranks. Exposed: how long the steps waited for it.",
      "Bandwidth measured: 2 (P-1)/P x bytes / time of the slowest rank inside the all-reduce "
      "(busbw)."};
  return table;
}

std::vector<std::string> formulas(const Group& group) {
  std::vector<std::string> notes = {
      "Compute on P ranks = C / P, where C is an epoch on one rank without the loading of data but "
      "with its copy to the device.",
      "Communication = T(P) - C / P: everything that is not C / P, unevenness, loading and "
      "overheads included. Below 0 where P ranks gained more than P-fold."};
  const bool loading = std::ranges::all_of(
      group, [](const SeriesFigures* s) { return s->points.front().run != nullptr; });
  if (!loading) notes.emplace_back("Loading was not measured separately: C = T(1).");
  return notes;
}

void add_bandwidth_notes(Table& table, const Group& group) {
  table.notes.emplace_back(
      "A ring all-reduce of N bytes over P ranks with bandwidth B takes 2 (P-1)/P N / B; hence "
      "bandwidth = 2 (P-1)/P x N x steps / communication of an epoch. GB = 10^9 bytes.");
  const Series& series = *group.front()->series;
  const double bytes = gradient_bytes(series.model);
  if (std::isfinite(bytes)) {
    table.notes.push_back(
        fmt::format("N: {} parameters of {}, 4 bytes each: {}; a step is one all-reduce of them.",
                    count_text(std::size_t(bytes / 4)), series.model, bytes_text(bytes)));
  }
  std::string steps;
  for (const SeriesFigures* s : group) {
    for (const PointFigures& p : s->points) {
      if (p.point->ranks == 1) continue;
      steps += fmt::format("{}{} x {}: {}", steps.empty() ? "" : ", ", count_text(s->series->batch),
                           p.point->ranks, count_text(p.point->steps));
    }
  }
  table.notes.push_back("Steps of an epoch, by batch x ranks: " + steps + ".");
}

std::vector<Table> tables_of(const Group& group) {
  using F = NyuFigures;
  const Series& series = *group.front()->series;
  Table times = wide_table(group, "1", "time and speedup",
                           {{"time_s", "time (sec)", Show::seconds, &F::time},
                            {"speedup", "speedup", Show::ratio, &F::speedup}},
                           1);
  times.notes = {series.scaling == Scaling::weak
                     ? "Weak scaling: the batch of every rank stays the same."
                     : "Strong scaling: the batch of all ranks together stays the same.",
                 "Time: an epoch after the first, loading of data included.", speedup_note(series)};
  Table parts = wide_table(group, "2", "compute and communication",
                           {{"compute_s", "compute (sec)", Show::seconds, &F::compute},
                            {"comm_s", "comm (sec)", Show::seconds, &F::inferred}},
                           2);
  parts.notes = formulas(group);
  Table bandwidths =
      wide_table(group, "3", "bandwidth utilisation",
                 {{"bandwidth_GBps", "bandwidth (GB/s)", Show::gigabytes, &F::bandwidth}}, 2);
  add_bandwidth_notes(bandwidths, group);
  return {times, parts, bandwidths, details(group)};
}

}  // namespace

std::vector<Table> nyu_layout(const std::vector<SeriesFigures>& all) {
  std::vector<Table> tables;
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

std::string ranks_heading(Processor processor) {
  return processor == Processor::gpu ? "GPUs" : "Ranks";
}

std::string speedup_note(const Series& series) {
  const std::size_t fewest = series.points.front().ranks;
  if (fewest == 1) return "Speedup S(P) = T(1) / T(P); efficiency = S(P) / P.";
  return fmt::format("No run on one rank: speedup S(P) = {0} T({0}) / T(P); efficiency = S(P) / P.",
                     fewest);
}

std::set<std::size_t> all_ranks(const Group& group) {
  std::set<std::size_t> ranks;
  for (const SeriesFigures* series : group) {
    for (const PointFigures& point : series->points) ranks.insert(point.point->ranks);
  }
  return ranks;
}

const PointFigures* point_at(const SeriesFigures& series, std::size_t ranks) {
  const auto found = std::ranges::find_if(
      series.points, [&](const PointFigures& point) { return point.point->ranks == ranks; });
  return found == series.points.end() ? nullptr : &*found;
}

}  // namespace rueda
