#include "rueda/study/figures.hpp"

#include <algorithm>
#include <cmath>

namespace rueda {
namespace {

constexpr auto kAllReduce = static_cast<std::size_t>(Phase::all_reduce);

/// Median over the runs of a point; what a run does not tell is left out.
template <typename Value>
double over_runs(const Point& point, Value value) {
  std::vector<double> values;
  for (const RunResult* run : point.runs) {
    const double one = value(*run);
    if (std::isfinite(one)) values.push_back(one);
  }
  return median_of(values);
}

template <typename Value>
double over_epochs(const RunResult& run, Value value) {
  std::vector<double> values;
  for (const EpochResult* epoch : steady_epochs(run)) values.push_back(value(*epoch));
  return median_of(values);
}

/// The repeat whose epochs are nearest to the point's.
const RunResult& median_run(const Point& point) {
  const auto distance = [&](const RunResult* run) {
    return std::abs(observe(*run).epoch.value - point.epoch.value);
  };
  return **std::ranges::min_element(point.runs, {}, distance);
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
  const auto per_epoch = [&](OverRanks CommunicationResult::*part) {
    return over_runs(point,
                     [&](const RunResult& run) { return (run.steady_communication.*part).mean; }) *
           double(point.steps);
  };
  c.measured = per_epoch(&CommunicationResult::busy);
  c.exposed = per_epoch(&CommunicationResult::exposed);
  c.wait = per_epoch(&CommunicationResult::wait);
  c.transfer = per_epoch(&CommunicationResult::transfer);
  c.add = per_epoch(&CommunicationResult::add);
  const auto told = [&](double CommunicationResult::*part) {
    return over_runs(point, [&](const RunResult& r) { return r.steady_communication.*part; });
  };
  c.bytes_per_step = told(&CommunicationResult::bytes);
  c.algbw = told(&CommunicationResult::algbw);
  c.busbw = told(&CommunicationResult::busbw);
  const double sent = 2 * (ranks - 1) / ranks * c.bytes_per_step * double(point.steps);
  if (c.transfer > 0) c.link_busbw = sent / c.transfer / 1e9;
  return c;
}

/// Of the last steady epoch of the first repeat: who was slow is no matter of medians.
StragglerFigures stragglers(const Point& point) {
  StragglerFigures figures;
  const RunResult& run = *point.runs.front();
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

void add_startup(PointFigures& figures) {
  const Point& point = *figures.point;
  figures.startup_seconds =
      over_runs(point, [](const RunResult& run) { return run.startup_seconds; });
  for (const auto& [name, unused] : point.runs.front()->startup) {
    const double seconds = over_runs(point, [&](const RunResult& run) {
      const auto found =
          std::ranges::find(run.startup, name, &std::pair<std::string, OverRanks>::first);
      return found == run.startup.end() ? kUnknown : found->second.max;
    });
    figures.startup.emplace_back(name, seconds);
  }
}

void add_run_figures(PointFigures& figures) {
  const Point& point = *figures.point;
  figures.has_run = true;
  for (std::size_t p = 0; p < kPhases; ++p) {
    figures.step_phases[p] =
        over_runs(point, [&](const RunResult& run) { return run.steady_full_step.phases[p].mean; });
    figures.epoch_phases[p] = over_runs(point, [&](const RunResult& run) {
      return over_epochs(run, [&](const EpochResult& e) { return e.phases[p].mean; });
    });
  }
  figures.stragglers = stragglers(point);
  figures.joules = over_runs(point, [](const RunResult& run) {
    return over_epochs(run, [](const EpochResult& e) { return e.joules; });
  });
  add_startup(figures);
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
  std::vector<double> epochs;
  for (const EpochResult* epoch : steady_epochs(run)) epochs.push_back(epoch->seconds);
  const auto images = static_cast<std::size_t>(point.images);
  const auto full_steps = double(images / point.global_batch);
  EpochParts parts;
  parts.partial_images = images % point.global_batch;
  parts.slow_steps = full_steps * (step.mean - step.median);
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
