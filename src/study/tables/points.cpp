#include <numeric>
#include <set>

#include "base/text.hpp"
#include "study/tables/point_table.hpp"

namespace rueda {
namespace {

/// "all_reduce" as people write it.
std::string phase_heading(std::size_t phase) {
  const std::string name(kPhaseNames[phase]);
  if (name == "all_reduce") return "all-reduce";
  return name;
}

/// Phases in which no time was spent anywhere would be columns of zeros.
std::vector<std::size_t> phases_with(const StudyFigures& all) {
  std::set<std::size_t> used;
  for (const PointFigures* f : points_of(all))
    for (std::size_t p = 0; p < kPhases; ++p)
      if (f->step_phases[p] > 0) used.insert(p);
  return {used.begin(), used.end()};
}

Fields scaling_row(const PointFigures& f) {
  const Point& p = *f.point;
  Cell scaling;
  if (f.series->scaling != Scaling::single) scaling = to_string(f.series->scaling);
  return {{"scaling", "scaling", Show::text, scaling},
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
          {"marks", "marks", Show::text, marks_of(p, "; ")}};
}

Table scaling_table(const StudyFigures& all) {
  return point_table(
      "scaling", "Scaling by epoch time", all, scaling_row,
      {"Epoch: seconds of training steps of an epoch, between barriers, without evaluation and "
       "start-up; median of the epochs after the first. Of several runs the median by this "
       "time, or the faster of the middle two; all figures of a row are of this run. *From, to*: "
       "minimum and maximum of the runs, or what the rounding of a log leaves.",
       "Epoch view: the epoch has the same images on any P. Speedup S(P) = P0 T(P0) / T(P) with "
       "the series' fewest ranks P0, which count as P0; efficiency = S / P. The baseline is the "
       "same program on P0 ranks. Without a second P there is no base, and no speedup.",
       "weak: the batch of each rank is fixed, so a step does more work on more ranks. strong: the "
       "global batch is fixed, so each rank's part of a step shrinks with P, which lowers "
       "efficiency by itself. An epoch is the same work in both, so the epoch view asks Amdahl's "
       "question for both; the step view of weak scaling asks Gustafson's.",
       "*More threads than cores*: ranks shared cores, so the figures also depend on the "
       "scheduler; left out of every fit. *Includes warm-up*: there is no epoch but the first of a "
       "process."});
}

Fields step_row(const PointFigures& f) {
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
}

Table step_table(const StudyFigures& all) {
  return point_table(
      "steps", "Scaling by full steps", all, step_row,
      {"Full step: one that takes the whole global batch; the median of the slowest rank's time. "
       "The last step of an epoch is partial where fewer images are left, and does not count here.",
       "Step view: speedup = ratio of the image rates of full steps, P0 (B(P)/t(P)) / "
       "(B(P0)/t(P0)). With a fixed batch per rank that is Gustafson's scaled speedup. Where it is "
       "better than the epoch view, partial steps and the time between steps make the "
       "difference."});
}

Fields communication_row(const PointFigures& f) {
  const CommunicationFigures& c = f.communication;
  if (f.of_fewest_ranks()) return {};
  return {
      {"inferred_seconds", "inferred, s", Show::seconds, c.inferred},
      {"inferred_same_batch_seconds", "same batch, s", Show::seconds, c.inferred_same_batch},
      {"measured_seconds", "measured, s", Show::seconds, c.busy},
      {"exposed_seconds", "exposed, s", Show::seconds, c.exposed},
      {"wait_seconds", "waiting, s", Show::seconds, c.wait},
      {"transfer_seconds", "transfer, s", Show::seconds, c.transfer},
      {"add_seconds", "adding, s", Show::seconds, c.add},
      {"exposed_share", "exposed of epoch, %", Show::percent, c.exposed / f.point->epoch.value}};
}

Table communication_table(const StudyFigures& all) {
  return point_table(
      "communication", "Communication in an epoch, measured in three ways", all, communication_row,
      {"Inferred: T(P) - T(P0) P0/P: all that is not ideal scaling; below 0 where it was better.",
       "Same batch: T(P) - T(1)/P against one rank at this rank's batch, where that was run. It "
       "leaves out that small batches are slower.",
       "Measured: time inside the all-reduce, hidden by backward or not, mean over ranks. Its "
       "parts are waiting for ranks that began later, transfer, and adding.",
       "Exposed: the part that nothing hid, the phase all_reduce."});
}

Fields bandwidth_row(const PointFigures& f) {
  const CommunicationFigures& c = f.communication;
  if (!std::isfinite(c.busbw)) return {};
  return {{"all_reduce", "all-reduce", Show::text, f.run->all_reduce},
          {"steps", "steps of an epoch", Show::count, double(f.point->steps)},
          {"bytes_per_step", "a step sums", Show::bytes, c.bytes},
          {"algbw_GBps", "algbw, GB/s", Show::gigabytes, c.algbw},
          {"busbw_GBps", "busbw, GB/s", Show::gigabytes, c.busbw},
          {"link_busbw_GBps", "of transfer, GB/s", Show::gigabytes, c.link_busbw}};
}

Table bandwidth_table(const StudyFigures& all) {
  return point_table("bandwidth", "Bandwidth of the all-reduce", all, bandwidth_row,
                     {"GB = 10^9 bytes. algbw = bytes summed in a step / the slowest rank's time "
                      "inside the all-reduce, which includes waiting for later ranks; busbw = "
                      "algbw x 2(P-1)/P, comparable with a link.",
                      "Of transfer: 2(P-1)/P x bytes / the mean time in messages alone, without "
                      "waiting and adding: the rate of the link. Sums in shared memory use none."});
}

Fields phase_row(const PointFigures& f, const std::vector<std::size_t>& used) {
  Fields fields;
  if (f.run == nullptr || !std::isfinite(f.step_phases[0])) return fields;
  for (const std::size_t p : used) {
    fields.push_back({std::string(kPhaseNames[p]) + "_seconds", phase_heading(p) + ", ms",
                      Show::millis, f.step_phases[p]});
  }
  const double step = std::accumulate(f.step_phases.begin(), f.step_phases.end(), 0.0);
  fields.push_back({"step_seconds", "step, ms", Show::millis, step});
  return fields;
}

Table phase_table(const StudyFigures& all) {
  const auto used = phases_with(all);
  const auto row = [&](const PointFigures& f) { return phase_row(f, used); };
  return point_table(
      "phases", "Where the time of a full step goes", all, row,
      {"Mean over the full steps of the steady epochs and over ranks, of the run that stands for "
       "the "
       "repeats. The phases follow each other and add up to the step. all-reduce "
       "is the exposed part.",
       "load: making the batch, or waiting for it; copy: waiting until it is on the device; other: "
       "bookkeeping."});
}

Fields loss_row(const PointFigures& f, const std::vector<std::size_t>& used) {
  Fields fields;
  if (!f.losses) return fields;
  const Losses& loss = *f.losses;
  fields = {{"lost_seconds", "lost, s", Show::seconds, loss.lost},
            {"lost_share", "of epoch, %", Show::percent, loss.lost / f.point->epoch.value}};
  for (const std::size_t p : used) {
    fields.push_back({std::string(kPhaseNames[p]) + "_lost_seconds", phase_heading(p) + ", s",
                      Show::seconds, loss.phases[p]});
  }
  fields.push_back({"waiting_seconds", "of it waiting, s", Show::seconds, loss.waiting});
  fields.push_back({"rest_seconds", "rest, s", Show::seconds, loss.rest});
  return fields;
}

Table loss_table(const StudyFigures& all) {
  const auto used = phases_with(all);
  const auto row = [&](const PointFigures& f) { return loss_row(f, used); };
  return point_table(
      "losses", "What the lost efficiency consists of", all, row,
      {"Lost: T(P) - T(P0) P0/P, seconds of an epoch more than with ideal scaling. A phase "
       "explains what it takes of an epoch beyond its share P0/P of the fewest ranks' seconds; a "
       "negative figure is time won. The phases and the rest add up to the loss.",
       "Of it waiting: of the all-reduce's part, waiting for ranks that were later, in proportion "
       "to waiting in the whole all-reduce.",
       "Rest: unevenness of the ranks and time between steps."});
}

Fields factor_row(const PointFigures& f) {
  Fields fields;
  if (!std::isfinite(f.factors.front())) return fields;
  for (std::size_t i = 0; i < kFactors.size(); ++i) {
    const auto& [key, heading] = kFactors[i];
    fields.push_back({key, std::string(heading) + ", %", Show::percent, f.factors[i]});
  }
  fields.push_back({"efficiency", "efficiency, %", Show::percent, f.epoch_view.efficiency.value});
  return fields;
}

Table factor_table(const StudyFigures& all) {
  return point_table(
      "factors", "Where efficiency was lost", all, factor_row,
      {"Useful time of a rank: its steps in the median epoch without waiting for the all-reduce. "
       "Load balance: its mean / its maximum over ranks. Serialisation: its maximum / the epoch on "
       "an ideal network, whose messages take no time. Transfer: that / the epoch. Their product "
       "is the parallel efficiency (POP Centre of Excellence).",
       "Computation scaling: useful time of all ranks on the fewest ranks P0 / on P. Global "
       "efficiency = parallel efficiency x computation scaling.",
       "Efficiency is that of the epoch view: global efficiency / the parallel efficiency on P0."});
}

Fields straggler_row(const PointFigures& f) {
  const auto& [compute, slowest, host] = f.stragglers;
  if (f.run == nullptr || f.ranks() < 2 || std::isnan(compute.mean)) return {};
  return {
      {"compute_min_seconds", "fastest rank, ms", Show::millis, compute.min},
      {"compute_mean_seconds", "mean, ms", Show::millis, compute.mean},
      {"compute_max_seconds", "slowest rank, ms", Show::millis, compute.max},
      {"imbalance", "slowest / mean", Show::ratio, compute.max / compute.mean},
      {"slowest", "slowest", Show::text, "rank " + std::to_string(slowest) + " on " + host},
      {"step_median_seconds", "step, median, ms", Show::millis,
       f.run->summary.full_step.slowest.median},
      {"step_p90_seconds", "step, p90, ms", Show::millis, f.run->summary.full_step.slowest.p90}};
}

Table straggler_table(const StudyFigures& all) {
  return point_table(
      "stragglers", "How even the ranks were", all, straggler_row,
      {"By rank: the median of its full steps without the phase all-reduce, i.e. its own work, in "
       "the last epoch of the run that stands for the repeats. Where ranks have "
       "different batches, each time is scaled to the mean batch.",
       "Step: the slowest rank's time over the steady full steps. A p90 far from the median is "
       "noise in single steps; a slowest rank far from the mean is a rank that is always late."});
}

/// Of a terminal's width: a note says the rest.
std::string short_label(const Series& series) {
  std::string label = series.label;
  const std::string rest = std::string(", ") + to_string(series.processor);
  const auto at = label.find(rest);
  if (series.processor == Processor::timed && at != label.npos) label.erase(at, rest.size());
  return label;
}

}  // namespace

Table overview_table(const StudyFigures& all) {
  Table table{.id = "overview",
              .title = "Scaling by epoch time",
              .columns = {{"series", "series", Show::text},
                          {"ranks", "P", Show::count},
                          {"epoch_seconds", "epoch, s", Show::seconds},
                          {"images_per_second", "images/s", Show::rate},
                          {"speedup", "speedup", Show::ratio},
                          {"efficiency", "efficiency, %", Show::percent},
                          {"marks", "", Show::text}}};
  bool starred = false;
  for (const PointFigures* f : points_of(all)) {
    std::string label = " ";
    if (f->point == &f->series->points.front()) label = short_label(*f->series);
    const char* mark = f->point->oversubscribed ? "*" : " ";
    starred |= f->point->oversubscribed;
    table.add({label, double(f->ranks()), f->point->epoch.value, f->images_per_second.value,
               f->epoch_view.speedup.value, f->epoch_view.efficiency.value, mark});
  }
  if (starred) table.notes.emplace_back("*: more threads than cores.");
  for (const SeriesFigures& series : all)
    if (series.series->processor == Processor::timed)
      table.notes.push_back(short_label(*series.series) + ": nothing computed.");
  return table;
}

Tables point_tables(const StudyFigures& all) {
  return {scaling_table(all),       step_table(all),      factor_table(all),
          communication_table(all), bandwidth_table(all), phase_table(all),
          loss_table(all),          serial_table(all),    straggler_table(all)};
}

}  // namespace rueda
