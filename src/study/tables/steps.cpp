#include <algorithm>
#include <cmath>
#include <numeric>

#include "point_table.hpp"

namespace rueda {
namespace {

/// "all_reduce" as people write it.
std::string phase_heading(std::size_t phase) {
  const std::string name(kPhaseNames[phase]);
  return name == "all_reduce" ? "all-reduce" : name;
}

/// Phases in which no time was spent anywhere would be columns of zeros.
std::vector<std::size_t> phases_with(const std::vector<SeriesFigures>& all) {
  std::vector<std::size_t> used;
  for (std::size_t p = 0; p < kPhases; ++p) {
    bool any = false;
    for_points(all, [&](const SeriesFigures&, const PointFigures& f) {
      any = any || f.step_phases[p] > 0;
    });
    if (any) used.push_back(p);
  }
  return used;
}

}  // namespace

Table communication_table(const std::vector<SeriesFigures>& all) {
  const auto row = [](const SeriesFigures& series, const PointFigures& f) -> std::vector<Field> {
    const CommunicationFigures& c = f.communication;
    if (f.point->ranks == series.series->points.front().ranks) return {};
    return {
        {"inferred_seconds", "inferred, s", Show::seconds, c.inferred},
        {"inferred_same_batch_seconds", "same batch, s", Show::seconds, c.inferred_same_batch},
        {"measured_seconds", "measured, s", Show::seconds, c.measured},
        {"exposed_seconds", "exposed, s", Show::seconds, c.exposed},
        {"wait_seconds", "waiting, s", Show::seconds, c.wait},
        {"transfer_seconds", "transfer, s", Show::seconds, c.transfer},
        {"add_seconds", "adding, s", Show::seconds, c.add},
        {"exposed_share", "exposed of epoch, %", Show::percent, c.exposed / f.point->epoch.value}};
  };
  return point_table(
      "communication", "Communication in an epoch, measured in three ways", all, row,
      {"Inferred: T(P) - T(P0) P0/P: everything that is not perfect scaling, whatever its cause.",
       "Same batch: T(P) - T(1)/P against one rank at this rank's batch, where that was run. It "
       "leaves out that small batches are slower.",
       "Measured: time inside the all-reduce, hidden by backward or not, mean over ranks. Its "
       "parts are waiting for ranks that began later, transfer, and adding.",
       "Exposed: how long the steps waited for it."});
}

Table bandwidth_table(const std::vector<SeriesFigures>& all) {
  const auto row = [](const SeriesFigures&, const PointFigures& f) -> std::vector<Field> {
    const CommunicationFigures& c = f.communication;
    if (!std::isfinite(c.busbw)) return {};
    return {{"steps", "steps of an epoch", Show::count, double(f.point->steps)},
            {"bytes_per_step", "a step sums", Show::bytes, c.bytes_per_step},
            {"algbw_GBps", "algbw, GB/s", Show::gigabytes, c.algbw},
            {"busbw_GBps", "busbw, GB/s", Show::gigabytes, c.busbw},
            {"link_busbw_GBps", "of transfer, GB/s", Show::gigabytes, c.link_busbw}};
  };
  return point_table("bandwidth", "Bandwidth of the all-reduce", all, row,
                     {"GB = 10^9 bytes. algbw = bytes summed in a step / the slowest rank's time "
                      "inside the all-reduce, which includes waiting for later ranks; busbw = "
                      "algbw x 2(P-1)/P, comparable with a link.",
                      "Of transfer: 2(P-1)/P x bytes / the mean time in messages alone, without "
                      "waiting and adding: the rate of the link."});
}

Table phase_table(const std::vector<SeriesFigures>& all) {
  const auto used = phases_with(all);
  const auto row = [&](const SeriesFigures&, const PointFigures& f) {
    std::vector<Field> fields;
    if (f.run == nullptr || !std::isfinite(f.step_phases[0])) return fields;
    for (const std::size_t p : used) {
      fields.push_back({std::string(kPhaseNames[p]) + "_seconds", phase_heading(p) + ", ms",
                        Show::millis, f.step_phases[p]});
    }
    const double step = std::accumulate(f.step_phases.begin(), f.step_phases.end(), 0.0);
    fields.push_back({"step_seconds", "step, ms", Show::millis, step});
    return fields;
  };
  return point_table(
      "phases", "Where the time of a full step goes", all, row,
      {"Mean over the full steps of the steady epochs and over ranks, of the repeat whose epochs "
       "are nearest to the median. The phases follow each other and add up to the step. all-reduce "
       "is the exposed part: how long the step waited for it.",
       "load: making the batch, or waiting for it; copy: waiting until it is on the device; other: "
       "bookkeeping."});
}

Table loss_table(const std::vector<SeriesFigures>& all) {
  const auto used = phases_with(all);
  const auto row = [&](const SeriesFigures&, const PointFigures& f) {
    std::vector<Field> fields;
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
  };
  return point_table(
      "losses", "What the lost efficiency consists of", all, row,
      {"Lost: T(P) - T(P0) P0/P, seconds of an epoch more than with ideal scaling. A phase "
       "explains what it takes of an epoch beyond its share P0/P of the fewest ranks' seconds; a "
       "negative figure is time won. The phases and the rest add up to the loss.",
       "Of it waiting: of the all-reduce's part, waiting for ranks that were later, in proportion "
       "to waiting in the whole all-reduce.",
       "Rest: unevenness of the ranks and time between steps."});
}

Table straggler_table(const std::vector<SeriesFigures>& all) {
  const auto row = [](const SeriesFigures&, const PointFigures& f) -> std::vector<Field> {
    const auto& [compute, slowest, host] = f.stragglers;
    if (f.run == nullptr || f.point->ranks < 2 || std::isnan(compute.mean)) return {};
    return {
        {"compute_min_seconds", "fastest rank, ms", Show::millis, compute.min},
        {"compute_mean_seconds", "mean, ms", Show::millis, compute.mean},
        {"compute_max_seconds", "slowest rank, ms", Show::millis, compute.max},
        {"imbalance", "slowest / mean", Show::ratio, compute.max / compute.mean},
        {"slowest", "slowest", Show::text, "rank " + std::to_string(slowest) + " on " + host},
        {"step_median_seconds", "step, median, ms", Show::millis,
         f.run->steady_full_step_seconds.median},
        {"step_p90_seconds", "step, p90, ms", Show::millis, f.run->steady_full_step_seconds.p90}};
  };
  return point_table(
      "stragglers", "How even the ranks were", all, row,
      {"By rank: the median of its full steps without the phase all-reduce, i.e. its own work, in "
       "the last epoch of the repeat whose epochs are nearest to the median.",
       "Step: the slowest rank's time over the steady full steps. A p90 far from the median is "
       "noise in single steps; a slowest rank far from the mean is a rank that is always late."});
}

}  // namespace rueda
