#include "figures.hpp"

#include <algorithm>
#include <cmath>

namespace rueda {
namespace {

constexpr auto kAllReduce = static_cast<std::size_t>(Phase::all_reduce);

/// The repeat whose epochs are nearest to the point's: parts of one run add up, medians of parts
/// over several do not.
const RunResult& median_run(const Point& point) {
  const auto distance = [&](const RunResult* run) {
    return std::abs(observe(*run).epoch.value - point.epoch.value);
  };
  return **std::ranges::min_element(point.runs, {}, distance);
}

/// Of that repeat, the steady epoch nearest to the point's: its parts add up to about the point's
/// time, whatever noise other epochs had.
const EpochResult& median_epoch(const Point& point) {
  const auto distance = [&](const EpochResult* epoch) {
    return std::abs(epoch->seconds - point.epoch.value);
  };
  const auto steady = steady_epochs(median_run(point));
  return **std::ranges::min_element(steady, {}, distance);
}

/// Seconds of the P = 1 epoch at this rank batch, if another series has it.
double one_rank_epoch(const std::vector<Series>& all, const Series& series, const Point& point) {
  for (const Series& other : all) {
    if (other.model != series.model || other.source != series.source ||
        other.variant != series.variant || other.processor != series.processor) {
      continue;
    }
    for (const Point& one : other.points) {
      if (one.ranks == 1 && one.global_batch == point.rank_batch && one.images == point.images) {
        return one.epoch.value;
      }
    }
  }
  return kUnknown;
}

CommunicationFigures communication(const std::vector<Series>& all, const Series& series,
                                   const Point& point) {
  const Point& base = series.points.front();
  const double ranks = double(point.ranks);
  CommunicationFigures c;
  if (point.ranks == base.ranks) return c;
  c.inferred = point.epoch.value - base.epoch.value * double(base.ranks) / ranks;
  c.inferred_same_batch = point.epoch.value - one_rank_epoch(all, series, point) / ranks;
  if (point.runs.empty()) return c;
  const CommunicationResult& told = median_run(point).steady_communication;
  const auto steps = double(point.steps);
  c.measured = told.busy.mean * steps;
  c.exposed = told.exposed.mean * steps;
  c.wait = told.wait.mean * steps;
  c.transfer = told.transfer.mean * steps;
  c.add = told.add.mean * steps;
  c.bytes_per_step = told.bytes;
  c.algbw = told.algbw;
  c.busbw = told.busbw;
  const double sent = 2 * (ranks - 1) / ranks * c.bytes_per_step * double(point.steps);
  if (c.transfer > 0) c.link_busbw = sent / c.transfer / 1e9;
  return c;
}

/// Of the last steady epoch.
StragglerFigures stragglers(const Point& point) {
  StragglerFigures figures;
  const RunResult& run = median_run(point);
  std::vector<double> medians;
  double slowest = 0;
  for (const RankEpoch& rank : steady_epochs(run).back()->ranks) {
    medians.push_back(rank.full_compute.median);
    if (!(rank.full_compute.median > slowest)) continue;
    slowest = rank.full_compute.median;
    figures.slowest = rank.rank;
  }
  if (medians.empty()) return figures;
  const Spread spread = spread_of(medians);
  figures.compute = {spread.min, spread.mean, spread.max};
  if (figures.slowest < run.ranks.size()) figures.slowest_host = run.ranks[figures.slowest].host;
  figures.median_step = run.steady_full_step_seconds.median;
  figures.p90_step = run.steady_full_step_seconds.p90;
  return figures;
}

void add_run_figures(PointFigures& figures) {
  const RunResult& run = median_run(*figures.point);
  const EpochResult& epoch = median_epoch(*figures.point);
  figures.has_run = true;
  for (std::size_t p = 0; p < kPhases; ++p) {
    figures.step_phases[p] = run.steady_full_step.phases[p].mean;
    figures.epoch_phases[p] = epoch.phases[p].mean;
  }
  figures.stragglers = stragglers(*figures.point);
  figures.joules = epoch.joules;
  figures.startup_seconds = run.startup_seconds;
  for (const auto& [name, seconds] : run.startup) figures.startup.emplace_back(name, seconds.max);
}

PointFigures evaluate(const std::vector<Series>& all, const Series& series, const Point& point) {
  PointFigures figures;
  figures.point = &point;
  figures.images_per_second = throughput(point);
  figures.epoch_view = epoch_speedup(series, point);
  figures.step_view = step_speedup(series, point);
  const double ranks = double(point.ranks) / double(series.points.front().ranks);
  const double base = double(series.points.front().ranks);
  figures.karp_flatt = karp_flatt(figures.epoch_view.speedup.value / base, ranks);
  figures.gustafson = gustafson_fraction(figures.step_view.speedup.value / base, ranks);
  figures.communication = communication(all, series, point);
  figures.device_seconds = double(point.ranks) * point.epoch.value;
  if (!point.runs.empty()) add_run_figures(figures);
  return figures;
}

}  // namespace

std::vector<SeriesFigures> evaluate(const std::vector<Series>& all) {
  std::vector<SeriesFigures> result;
  for (const Series& series : all) {
    SeriesFigures figures{.series = &series, .points = {}, .serial_fraction = {}};
    for (const Point& point : series.points) figures.points.push_back(evaluate(all, series, point));
    if (series.scaling != Scaling::single) figures.serial_fraction = amdahl_fraction(series);
    result.push_back(std::move(figures));
  }
  return result;
}

EpochParts epoch_parts(const Point& point) {
  const RunResult& run = median_run(point);
  const Spread& step = run.steady_full_step_seconds;
  const auto images = static_cast<std::size_t>(point.images);
  const auto full_steps = double(images / point.global_batch);
  EpochParts parts;
  parts.partial_images = images % point.global_batch;
  parts.slow_steps = full_steps * (step.mean - step.median);
  std::vector<double> epochs;  // the step's mean is over all of them, too
  for (const EpochResult* epoch : steady_epochs(run)) epochs.push_back(epoch->seconds);
  parts.partial = spread_of(epochs).mean - full_steps * step.mean;
  parts.partial_by_images = step.median * double(parts.partial_images) / double(point.global_batch);
  return parts;
}

std::optional<Losses> losses(const SeriesFigures& series, const PointFigures& point) {
  const PointFigures& base = series.points.front();
  const bool same = point.point->ranks == base.point->ranks;
  if (same || point.point->oversubscribed || !point.has_run || !base.has_run) return std::nullopt;
  const double share = double(base.point->ranks) / double(point.point->ranks);
  Losses result;
  result.lost = point.point->epoch.value - base.point->epoch.value * share;
  result.rest = result.lost;
  for (std::size_t p = 0; p < kPhases; ++p) {
    result.phases[p] = point.epoch_phases[p] - base.epoch_phases[p] * share;
    result.rest -= result.phases[p];
  }
  const CommunicationFigures& c = point.communication;
  if (c.measured > 0) result.waiting = result.phases[kAllReduce] * c.wait / c.measured;
  return result;
}

}  // namespace rueda
