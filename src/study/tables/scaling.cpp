#include "point_table.hpp"

namespace rueda {
namespace {

std::string marks_text(const Series& series, const Point& point) {
  const std::string marks = marks_of(point, "one epoch only", "; ");
  if (series.processor != Processor::timed) return marks;
  return "nothing computed" + (marks.empty() ? "" : "; " + marks);
}

}  // namespace

Table point_table(const std::string& id, const std::string& title,
                  const std::vector<Column>& columns, const std::vector<SeriesFigures>& all,
                  const RowOf& row_of, const std::vector<std::string>& notes) {
  Table table{.id = id,
              .title = title,
              .columns = {{"series", "series", Show::text},
                          {"ranks", "P", Show::count},
                          {"hosts", "hosts", Show::count}}};
  table.columns.insert(table.columns.end(), columns.begin(), columns.end());
  table.notes = notes;
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    const Row cells = row_of(series, f);
    if (cells.empty()) return;
    Row row = {series.series->label, double(f.point->ranks), double(f.point->hosts)};
    row.insert(row.end(), cells.begin(), cells.end());
    table.add(std::move(row));
  });
  return table;
}

Cell count_cell(std::size_t count) { return count == 0 ? Cell() : Cell(double(count)); }

Cell range_cell(const Estimate& estimate, Show show) {
  if (!known(estimate) || is_exact(estimate)) return {};
  return cell_text(estimate.low, show) + " to " + cell_text(estimate.high, show);
}

std::string marks_of(const Point& point, const std::string& one_epoch, const std::string& between) {
  std::string text = point.oversubscribed ? "more threads than cores" : "";
  if (point.includes_warm_up) text += (text.empty() ? "" : between) + one_epoch;
  return text;
}

Table overview_table(const std::vector<SeriesFigures>& all) {
  Table table{.id = "overview",
              .title = "Scaling by epoch time",
              .columns = {{"series", "series", Show::text},
                          {"ranks", "P", Show::count},
                          {"epoch_seconds", "epoch, s", Show::seconds},
                          {"images_per_second", "images/s", Show::rate},
                          {"speedup", "speedup", Show::ratio},
                          {"efficiency", "efficiency, %", Show::percent},
                          {"marks", "", Show::text}}};
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    const bool first = &f == &series.points.front();
    table.add({first ? series.series->label : " ", double(f.point->ranks), f.point->epoch.value,
               f.images_per_second.value, f.epoch_view.speedup.value, f.epoch_view.efficiency.value,
               f.point->oversubscribed ? "*" : " "});
  });
  return table;
}

Table scaling_table(const std::vector<SeriesFigures>& all) {
  const auto row = [](const SeriesFigures& series, const PointFigures& f) -> Row {
    const Point& p = *f.point;
    const Scaling scaling = series.series->scaling;
    return {scaling == Scaling::single ? "" : to_string(scaling),
            count_cell(p.rank_batch),
            count_cell(p.global_batch),
            double(p.repeats),
            p.epoch.value,
            range_cell(p.epoch, Show::seconds),
            f.images_per_second.value,
            f.images_per_second.value / double(p.ranks),
            f.epoch_view.speedup.value,
            f.epoch_view.efficiency.value,
            range_cell(f.epoch_view.efficiency, Show::percent),
            marks_text(*series.series, p)};
  };
  return point_table(
      "scaling", "Scaling by epoch time",
      {{"scaling", "scaling", Show::text},
       {"rank_batch", "batch per rank", Show::count},
       {"global_batch", "global batch", Show::count},
       {"repeats", "runs", Show::count},
       {"epoch_seconds", "epoch, s", Show::seconds},
       {"epoch_range", "from, to", Show::text},
       {"images_per_second", "images/s", Show::rate},
       {"images_per_second_per_rank", "per rank", Show::rate},
       {"speedup", "speedup", Show::ratio},
       {"efficiency", "efficiency, %", Show::percent},
       {"efficiency_range", "from, to", Show::text},
       {"marks", "marks", Show::text}},
      all, row,
      {"Epoch: seconds of training steps of an epoch, between barriers, without evaluation and "
       "start-up; median of the epochs after the first, then of the runs. *From, to*: least and "
       "most of the runs, or what the rounding of a log leaves.",
       "Epoch view: the epoch has the same images on any P. Speedup S(P) = P0 T(P0) / T(P) with "
       "the "
       "series' fewest ranks P0, which count as P0; efficiency = S / P. The baseline is the same "
       "program on P0 ranks.",
       "weak: the batch of each rank is fixed. Steps take as long on any P, and an epoch has "
       "fewer. "
       "strong: the global batch is fixed. Each rank's part of a step shrinks with P, which lowers "
       "efficiency by itself.",
       "*More threads than cores*: ranks shared cores, so the figures also depend on the "
       "scheduler; "
       "left out of every fit. *One epoch only*: includes warm-up."});
}

Table step_table(const std::vector<SeriesFigures>& all) {
  const auto row = [](const SeriesFigures&, const PointFigures& f) -> Row {
    const Point& p = *f.point;
    if (!known(p.full_step)) return {};
    return {count_cell(p.global_batch),
            double(p.steps),
            p.full_step.value,
            range_cell(p.full_step, Show::millis),
            double(p.global_batch) / p.full_step.value,
            f.step_view.speedup.value,
            f.step_view.efficiency.value};
  };
  return point_table(
      "steps", "Scaling by full steps",
      {{"global_batch", "global batch", Show::count},
       {"steps", "steps of an epoch", Show::count},
       {"full_step_seconds", "full step, ms", Show::millis},
       {"full_step_range", "from, to", Show::text},
       {"step_images_per_second", "images/s", Show::rate},
       {"step_speedup", "scaled speedup", Show::ratio},
       {"step_efficiency", "efficiency, %", Show::percent}},
      all, row,
      {"Full step: one that takes the whole global batch; the median of the slowest rank's time. "
       "The last step of an epoch is partial where fewer images are left, and does not count here.",
       "Step view: speedup = ratio of the image rates of full steps, P0 (B(P)/t(P)) / "
       "(B(P0)/t(P0)). With a fixed batch per rank that is Gustafson's scaled speedup. Where it is "
       "better than the epoch view, partial steps and the time between steps make the "
       "difference."});
}

Table serial_table(const std::vector<SeriesFigures>& all) {
  const auto row = [](const SeriesFigures& series, const PointFigures& f) -> Row {
    if (f.point->ranks == series.series->points.front().ranks) return {};
    const Estimate fit = series.serial_fraction.value_or(Estimate{});
    return {fit.value, range_cell(fit, Show::percent), fit.value > 0 ? 1 / fit.value : kUnknown,
            f.karp_flatt, f.gustafson};
  };
  return point_table(
      "serial_fraction", "Serial fraction",
      {{"amdahl", "Amdahl fit, %", Show::percent},
       {"amdahl_range", "from, to", Show::text},
       {"amdahl_limit", "speedup limit", Show::ratio},
       {"karp_flatt", "Karp-Flatt, %", Show::percent},
       {"gustafson", "Gustafson, %", Show::percent}},
      all, row,
      {"Amdahl: s of T(P)/T(1) = s + (1 - s)/P, least squares over all P of the series that had a "
       "core for each thread; its limit is 1/s. *From, to*: the fits to the extremes of the runs.",
       "Karp-Flatt: the s that one P alone implies, (1/S - 1/P) / (1 - 1/P), from the epoch view. "
       "If it grows with P, the loss is overhead that grows with P, and not serial work.",
       "Gustafson: the s of the scaled speedup S = P - s (P - 1), from the step view."});
}

}  // namespace rueda
