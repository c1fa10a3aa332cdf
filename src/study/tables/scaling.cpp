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
                  const std::vector<SeriesFigures>& all, const RowOf& row_of,
                  const std::vector<std::string>& notes) {
  Table table{.id = id, .title = title};
  table.notes = notes;
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    std::vector<Field> fields = row_of(series, f);
    if (fields.empty()) return;
    fields.insert(fields.begin(), {{"series", "series", Show::text, series.series->label},
                                   {"ranks", "P", Show::count, double(f.point->ranks)},
                                   {"hosts", "hosts", Show::count, double(f.point->hosts)}});
    table.add_fields(fields);
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
  const auto row = [](const SeriesFigures& series, const PointFigures& f) -> std::vector<Field> {
    const Point& p = *f.point;
    const Scaling scaling = series.series->scaling;
    return {
        {"scaling", "scaling", Show::text, scaling == Scaling::single ? "" : to_string(scaling)},
        {"rank_batch", "batch per rank", Show::count, count_cell(p.rank_batch)},
        {"global_batch", "global batch", Show::count, count_cell(p.global_batch)},
        {"repeats", "runs", Show::count, double(p.repeats)},
        {"epoch_seconds", "epoch, s", Show::seconds, p.epoch.value},
        {"epoch_range", "from, to", Show::text, range_cell(p.epoch, Show::seconds)},
        {"images_per_second", "images/s", Show::rate, f.images_per_second.value},
        {"images_per_second_per_rank", "per rank", Show::rate,
         f.images_per_second.value / double(p.ranks)},
        {"speedup", "speedup", Show::ratio, f.epoch_view.speedup.value},
        {"efficiency", "efficiency, %", Show::percent, f.epoch_view.efficiency.value},
        {"efficiency_range", "from, to", Show::text,
         range_cell(f.epoch_view.efficiency, Show::percent)},
        {"marks", "marks", Show::text, marks_text(*series.series, p)}};
  };
  return point_table(
      "scaling", "Scaling by epoch time", all, row,
      {"Epoch: seconds of training steps of an epoch, between barriers, without evaluation and "
       "start-up; median of the epochs after the first, then of the runs. *From, to*: least and "
       "most of the runs, or what the rounding of a log leaves.",
       "Epoch view: the epoch has the same images on any P. Speedup S(P) = P0 T(P0) / T(P) with "
       "the series' fewest ranks P0, which count as P0; efficiency = S / P. The baseline is the "
       "same program on P0 ranks.",
       "weak: the batch of each rank is fixed. Steps take as long on any P, and an epoch has "
       "fewer. strong: the global batch is fixed. Each rank's part of a step shrinks with P, which "
       "lowers efficiency by itself.",
       "*More threads than cores*: ranks shared cores, so the figures also depend on the "
       "scheduler; left out of every fit. *One epoch only*: includes warm-up."});
}

Table step_table(const std::vector<SeriesFigures>& all) {
  const auto row = [](const SeriesFigures&, const PointFigures& f) -> std::vector<Field> {
    const Point& p = *f.point;
    if (!known(p.full_step)) return {};
    return {{"global_batch", "global batch", Show::count, count_cell(p.global_batch)},
            {"steps", "steps of an epoch", Show::count, double(p.steps)},
            {"full_step_seconds", "full step, ms", Show::millis, p.full_step.value},
            {"full_step_range", "from, to", Show::text, range_cell(p.full_step, Show::millis)},
            {"step_images_per_second", "images/s", Show::rate,
             double(p.global_batch) / p.full_step.value},
            {"step_speedup", "scaled speedup", Show::ratio, f.step_view.speedup.value},
            {"step_efficiency", "efficiency, %", Show::percent, f.step_view.efficiency.value}};
  };
  return point_table(
      "steps", "Scaling by full steps", all, row,
      {"Full step: one that takes the whole global batch; the median of the slowest rank's time. "
       "The last step of an epoch is partial where fewer images are left, and does not count here.",
       "Step view: speedup = ratio of the image rates of full steps, P0 (B(P)/t(P)) / "
       "(B(P0)/t(P0)). With a fixed batch per rank that is Gustafson's scaled speedup. Where it is "
       "better than the epoch view, partial steps and the time between steps make the "
       "difference."});
}

Table serial_table(const std::vector<SeriesFigures>& all) {
  const auto row = [](const SeriesFigures& series, const PointFigures& f) -> std::vector<Field> {
    if (f.point->ranks == series.series->points.front().ranks) return {};
    const Estimate fit = series.serial_fraction.value_or(Estimate{});
    return {
        {"amdahl", "Amdahl fit, %", Show::percent, fit.value},
        {"amdahl_range", "from, to", Show::text, range_cell(fit, Show::percent)},
        {"amdahl_limit", "speedup limit", Show::ratio, fit.value > 0 ? 1 / fit.value : kUnknown},
        {"karp_flatt", "Karp-Flatt, %", Show::percent, f.karp_flatt},
        {"gustafson", "Gustafson, %", Show::percent, f.gustafson}};
  };
  return point_table(
      "serial_fraction", "Serial fraction", all, row,
      {"Amdahl: s of T(P)/T(1) = s + (1 - s)/P, least squares over all P of the series that had a "
       "core for each thread; its limit is 1/s. *From, to*: the fits to the extremes of the runs.",
       "Karp-Flatt: the s that one P alone implies, (1/S - 1/P) / (1 - 1/P), from the epoch view. "
       "If it grows with P, the loss is overhead that grows with P, and not serial work.",
       "Gustafson: the s of the scaled speedup S = P - s (P - 1), from the step view."});
}

}  // namespace rueda
