#include "rows.hpp"
#include "rueda/study/tables.hpp"

namespace rueda {
namespace {

std::string marks_of(const Series& series, const Point& point) {
  std::string marks;
  const auto add = [&](bool is, const std::string& mark) {
    if (is) marks += (marks.empty() ? "" : "; ") + mark;
  };
  add(series.processor == Processor::timed, "nothing computed");
  add(point.oversubscribed, "more threads than cores");
  add(point.includes_warm_up, "one epoch only");
  return marks;
}

std::string scaling_text(const SeriesFigures& series) {
  switch (series.series->scaling) {
    case Scaling::weak:
      return "weak";
    case Scaling::strong:
      return "strong";
    case Scaling::single:
      return "";
  }
  return {};
}

Cell batch_cell(std::size_t batch) { return batch == 0 ? Cell() : Cell(double(batch)); }

}  // namespace

Table overview_table(const std::vector<SeriesFigures>& all) {
  Table table{.id = "overview",
              .title = "Scaling by epoch time",
              .columns = {{"series", "series", Show::text},
                          {"ranks", "P", Show::count},
                          {"epoch_seconds", "epoch, s", Show::seconds},
                          {"images_per_second", "images/s", Show::rate},
                          {"speedup", "speedup", Show::ratio},
                          {"efficiency", "efficiency, %", Show::percent},
                          {"marks", "", Show::text}},
              .rows = {},
              .notes = {}};
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    const bool first = &f == &series.points.front();
    table.add({first ? series.series->label : " ", double(f.point->ranks), f.point->epoch.value,
               f.images_per_second.value, f.epoch_view.speedup.value, f.epoch_view.efficiency.value,
               f.point->oversubscribed ? "*" : " "});
  });
  return table;
}

Table scaling_table(const std::vector<SeriesFigures>& all) {
  Table table{.id = "scaling",
              .title = "Scaling by epoch time",
              .columns = with_point({{"scaling", "scaling", Show::text},
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
                                     {"marks", "marks", Show::text}}),
              .rows = {},
              .notes = {}};
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    const Point& p = *f.point;
    add_row(table, series, f,
            {scaling_text(series), batch_cell(p.rank_batch), batch_cell(p.global_batch),
             double(p.repeats), p.epoch.value, range_cell(p.epoch, Show::seconds),
             f.images_per_second.value, f.images_per_second.value / double(p.ranks),
             f.epoch_view.speedup.value, f.epoch_view.efficiency.value,
             range_cell(f.epoch_view.efficiency, Show::percent), marks_of(*series.series, p)});
  });
  table.notes = {
      "Epoch: seconds of training steps of an epoch, between barriers, without evaluation and "
      "start-up; median of the epochs after the first, then of the runs. *From, to*: least and "
      "most "
      "of the runs, or what the rounding of a log leaves.",
      "Epoch view: the epoch has the same images on any P. Speedup S(P) = P0 T(P0) / T(P) with the "
      "series' fewest ranks P0, which count as P0; efficiency = S / P. Own baseline: the same "
      "program "
      "on P0 ranks.",
      "weak: the batch of each rank is fixed, so steps are as long and an epoch has fewer. strong: "
      "the global batch is fixed, so each rank's part of a step shrinks with P, which costs "
      "efficiency of its own.",
      "*More threads than cores*: ranks shared cores, so the figures tell about the scheduler, "
      "too; "
      "left out of every fit. *One epoch only*: includes warm-up."};
  return table;
}

Table step_table(const std::vector<SeriesFigures>& all) {
  Table table{.id = "steps",
              .title = "Scaling by full steps",
              .columns = with_point({{"global_batch", "global batch", Show::count},
                                     {"steps", "steps of an epoch", Show::count},
                                     {"full_step_seconds", "full step, ms", Show::millis},
                                     {"full_step_range", "from, to", Show::text},
                                     {"step_images_per_second", "images/s", Show::rate},
                                     {"step_speedup", "scaled speedup", Show::ratio},
                                     {"step_efficiency", "efficiency, %", Show::percent}}),
              .rows = {},
              .notes = {}};
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    const Point& p = *f.point;
    if (!known(p.full_step)) return;
    add_row(table, series, f,
            {batch_cell(p.global_batch), double(p.steps), p.full_step.value,
             range_cell(p.full_step, Show::millis), double(p.global_batch) / p.full_step.value,
             f.step_view.speedup.value, f.step_view.efficiency.value});
  });
  table.notes = {
      "Full step: one that takes the whole global batch; the median of the slowest rank's time. "
      "The "
      "last step of an epoch is partial where the images leave less, and is not in it.",
      "Step view: speedup = ratio of the image rates of full steps, P0 (B(P)/t(P)) / "
      "(B(P0)/t(P0)). "
      "With a fixed batch per rank that is Gustafson's scaled speedup. Where it is better than the "
      "epoch view, partial steps and what lies between steps make the difference."};
  return table;
}

Table serial_table(const std::vector<SeriesFigures>& all) {
  Table table{.id = "serial_fraction",
              .title = "Serial fraction",
              .columns = with_point({{"amdahl", "Amdahl fit, %", Show::percent},
                                     {"amdahl_range", "from, to", Show::text},
                                     {"amdahl_limit", "speedup limit", Show::ratio},
                                     {"karp_flatt", "Karp-Flatt, %", Show::percent},
                                     {"gustafson", "Gustafson, %", Show::percent}}),
              .rows = {},
              .notes = {}};
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    if (f.point->ranks == series.series->points.front().ranks) return;
    const auto& fit = series.serial_fraction;
    const bool limited = fit && fit->value > 0;
    add_row(table, series, f,
            {fit ? Cell(fit->value) : Cell(), fit ? range_cell(*fit, Show::percent) : Cell(),
             limited ? Cell(1 / fit->value) : Cell(), f.karp_flatt, f.gustafson});
  });
  table.notes = {
      "Amdahl: s of T(P)/T(1) = s + (1 - s)/P, least squares over all P of the series that had a "
      "core "
      "for each thread; its limit is 1/s. *From, to*: the fits to the extremes of the runs.",
      "Karp-Flatt: the s that one P alone implies, (1/S - 1/P) / (1 - 1/P), from the epoch view. "
      "If it "
      "grows with P, the loss is overhead that grows with P, and not serial work.",
      "Gustafson: the s of the scaled speedup S = P - s (P - 1), from the step view."};
  return table;
}

}  // namespace rueda
