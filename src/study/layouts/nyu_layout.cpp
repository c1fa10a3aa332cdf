#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "layout_words.hpp"
#include "nyu_figures.hpp"
#include "rueda/display/number_text.hpp"
#include "rueda/study/layouts.hpp"

namespace rueda {
namespace {

/// Series that differ in their batch only.
using Group = std::vector<const SeriesFigures*>;
using Kind = std::tuple<std::string, std::string, std::string, Processor, std::size_t, Scaling>;

Kind kind_of(const Series& s) {
  return {s.source, s.model, s.variant, s.processor, s.image_size, s.scaling};
}

std::vector<Group> groups_of(const std::vector<SeriesFigures>& all) {
  std::vector<Kind> order;  // as they were given
  std::map<Kind, Group> groups;
  for (const SeriesFigures& series : all) {
    if (series.series->scaling == Scaling::single) continue;
    const Kind kind = kind_of(*series.series);
    if (!groups.contains(kind)) order.push_back(kind);
    groups[kind].push_back(&series);
  }
  std::vector<Group> result;
  for (const Kind& kind : order) {
    std::ranges::stable_sort(groups[kind], {},
                             [](const SeriesFigures* s) { return s->series->batch; });
    result.push_back(groups[kind]);
  }
  return result;
}

std::string batch_word(const Series& s) {
  const std::string one = s.processor == Processor::gpu ? "GPU" : "rank";
  return fmt::format("Batch {} {}", count_text(s.batch),
                     s.scaling == Scaling::weak ? "per " + one : "global");
}

std::string batch_key(const Series& s) { return fmt::format("batch_{}_", s.batch); }

std::string about(const Series& s) {
  std::string text =
      fmt::format("{}, {}, {} scaling", s.model, processor_word(s.processor), to_string(s.scaling));
  if (!s.variant.empty()) text += ", " + s.variant;
  return text + (s.source == "rueda" ? "" : " (" + s.source + ")");
}

/// A figure of a batch that becomes a column.
struct Part {
  std::string key;
  std::string heading;
  Show show = Show::seconds;
  double (*value)(const SeriesFigures&, const PointFigures&) = nullptr;
};

/// A row for each P from `fewest` on, the parts of every batch side by side.
Table wide_table(const Group& group, const std::vector<Part>& parts, std::size_t fewest) {
  Table table;
  table.columns = {{"ranks", ranks_heading(group.front()->series->processor), Show::count}};
  for (const SeriesFigures* s : group) {
    for (const Part& part : parts) {
      table.columns.push_back({batch_key(*s->series) + part.key,
                               batch_word(*s->series) + ": " + part.heading, part.show});
    }
  }
  for (const std::size_t ranks : all_ranks(group)) {
    if (ranks < fewest) continue;
    std::vector<Cell> row;
    row.emplace_back(double(ranks));
    for (const SeriesFigures* s : group) {
      const PointFigures* point = point_at(*s, ranks);
      for (const Part& part : parts)
        row.emplace_back(point == nullptr ? kUnknown : part.value(*s, *point));
    }
    table.add(std::move(row));
  }
  return table;
}

Table times(const Group& group) {
  Table table = wide_table(
      group,
      {{"time_s", "time (sec)", Show::seconds,
        [](const SeriesFigures&, const PointFigures& p) { return p.point->epoch.value; }},
       {"speedup", "speedup", Show::ratio,
        [](const SeriesFigures&, const PointFigures& p) { return p.epoch_view.speedup.value; }}},
      1);
  table.title = "Table 1: time and speedup: " + about(*group.front()->series);
  const Series& series = *group.front()->series;
  table.notes = {series.scaling == Scaling::weak
                     ? "Weak scaling: the batch of every rank stays the same."
                     : "Strong scaling: the batch of all ranks together stays the same.",
                 "Time: an epoch after the first, loading of data included.", speedup_note(series)};
  return table;
}

Table compute_and_communication(const Group& group) {
  Table table = wide_table(
      group,
      {{"compute_s", "compute (sec)", Show::seconds,
        [](const SeriesFigures& s, const PointFigures& p) { return nyu_figures(s, p).compute; }},
       {"comm_s", "comm (sec)", Show::seconds,
        [](const SeriesFigures& s, const PointFigures& p) { return nyu_figures(s, p).inferred; }}},
      2);
  table.title = "Table 2: compute and communication: " + about(*group.front()->series);
  return table;
}

Table bandwidths(const Group& group) {
  Table table = wide_table(
      group,
      {{"bandwidth_GBps", "bandwidth (GB/s)", Show::gigabytes,
        [](const SeriesFigures& s, const PointFigures& p) { return nyu_figures(s, p).bandwidth; }}},
      2);
  table.title = "Table 3: bandwidth utilisation: " + about(*group.front()->series);
  return table;
}

/// Every figure behind tables 2 and 3.
Table details(const Group& group) {
  Table table{.id = "",
              .title = "Communication, inferred beside measured: " + about(*group.front()->series),
              .columns = {{"batch", "Batch", Show::count},
                          {"ranks", ranks_heading(group.front()->series->processor), Show::count},
                          {"one_rank_s", "T(1) (s)", Show::seconds},
                          {"loading_s", "of this loading (s)", Show::seconds},
                          {"time_s", "T(P) (s)", Show::seconds},
                          {"compute_s", "Compute (s)", Show::seconds},
                          {"inferred_s", "Comm inferred (s)", Show::seconds},
                          {"measured_s", "Comm measured (s)", Show::seconds},
                          {"exposed_s", "Comm exposed (s)", Show::seconds},
                          {"steps", "Steps", Show::count},
                          {"gradient_bytes", "Gradient", Show::bytes},
                          {"bandwidth_GBps", "Bandwidth inferred (GB/s)", Show::gigabytes},
                          {"busbw_GBps", "Bandwidth measured (GB/s)", Show::gigabytes}},
              .rows = {},
              .notes = {}};
  for (const SeriesFigures* s : group) {
    for (const PointFigures& point : s->points) {
      if (point.point->ranks == 1) continue;
      const NyuFigures f = nyu_figures(*s, point);
      table.add({double(s->series->batch), double(point.point->ranks), f.one_rank, f.loading,
                 f.time, f.compute, f.inferred, f.measured, f.exposed, f.steps, f.bytes,
                 f.bandwidth, f.busbw});
    }
  }
  return table;
}

std::vector<std::string> formulas(const Group& group) {
  std::vector<std::string> notes = {
      "Compute on P ranks = C / P, where C is an epoch on one rank without the loading of data but "
      "with its copy to the device.",
      "Communication = T(P) - C / P: everything that is not C / P, unevenness, loading and "
      "overheads included. Below 0 where P ranks gained more than P-fold."};
  const bool loading =
      std::ranges::all_of(group, [](const SeriesFigures* s) { return s->points.front().has_run; });
  if (!loading) notes.emplace_back("Loading was not told apart: C = T(1).");
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
        fmt::format("N: {} parameters of {}, 4 bytes each: {}; a step is one "
                    "all-reduce of them.",
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

void add_group(std::vector<Table>& tables, const Group& group, std::size_t number) {
  const std::string end = fmt::format("_g{}", number);
  Table first = times(group), second = compute_and_communication(group);
  Table third = bandwidths(group), rest = details(group);
  first.id = "nyu_table_1" + end;
  second.id = "nyu_table_2" + end;
  third.id = "nyu_table_3" + end;
  rest.id = "nyu_communication" + end;
  second.notes = formulas(group);
  add_bandwidth_notes(third, group);
  rest.notes = {
      "Inferred: as in tables 2 and 3. Measured: inside the all-reduce, hidden or not, "
      "mean over ranks. Exposed: what steps waited for it.",
      "Bandwidth measured: 2 (P-1)/P x bytes / time of the slowest rank inside the "
      "all-reduce (busbw)."};
  for (Table* table : {&first, &second, &third, &rest}) tables.push_back(std::move(*table));
}

}  // namespace

std::vector<Table> nyu_layout(const std::vector<SeriesFigures>& all) {
  std::vector<Table> tables;
  std::size_t number = 0;
  for (const Group& group : groups_of(all)) add_group(tables, group, ++number);
  return tables;
}

}  // namespace rueda
