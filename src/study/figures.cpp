#include "study/figures.hpp"

#include <functional>
#include <numeric>

#include "record/aggregation.hpp"

namespace rueda {
namespace {

/// Seconds of the P = 1 epoch at this rank batch, if another series has it.
double one_rank_epoch(const std::vector<Series>& all, const Point& point) {
  const Subject& subject = point;
  for (const Series& other : all) {
    if (subject != other.points.front()) continue;
    for (const Point& one : other.points) {
      if (one.ranks == 1 && one.global_batch == point.rank_batch && one.images == point.images)
        return one.epoch.value;
    }
  }
  return kUnknown;
}

/// What was measured in the steady epoch of median time.
void add_measured(CommunicationFigures& c, const RunResult& run, double steps, double ranks) {
  const StepBreakdown step = middle_epoch(run).all_steps.mean;
  const AllSteps& steady = run.summary.all_steps;
  c.busy = step.busy.mean * steps;
  c.exposed = step.phases[kAllReduce].mean * steps;
  c.wait = step.wait.mean * steps;
  c.transfer = step.transfer.mean * steps;
  c.add = step.add.mean * steps;
  c.bytes = steady.bytes;
  c.algbw = steady.algbw;
  c.busbw = steady.busbw;
  const double sent = 2 * (ranks - 1) / ranks * c.bytes * steps;
  if (c.transfer > 0 && run.sums_go_over_links()) c.link_busbw = sent / c.transfer / 1e9;
}

CommunicationFigures communication(const std::vector<Series>& all, const PointFigures& figures) {
  const Point& base = figures.series->points.front();
  const Point& point = *figures.point;
  const double ranks = double(point.ranks);
  CommunicationFigures c;
  if (figures.of_fewest_ranks()) return c;
  c.inferred = point.epoch.value - base.epoch.value * double(base.ranks) / ranks;
  c.inferred_same_batch = point.epoch.value - one_rank_epoch(all, point) / ranks;
  if (figures.run != nullptr) add_measured(c, *figures.run, double(point.steps), ranks);
  return c;
}

EfficiencySeconds efficiency_of(const RunResult& run) {
  return median_epoch(values_of(steady_epochs(run), &EpochFigures::efficiency));
}

EfficiencyFactors efficiency_factors(const RunResult& base, const RunResult& run) {
  const EfficiencySeconds e = efficiency_of(run);
  const double before = double(base.world_size()) * efficiency_of(base).useful_mean;
  const double scaling = before / (double(run.world_size()) * e.useful_mean);
  return {e.parallel(), e.load_balance(), e.serialisation(),
          e.transfer(), scaling,          e.parallel() * scaling};
}

/// Of the four in the middle.
std::size_t least_factor(const EfficiencyFactors& factors) {
  return std::size_t(std::min_element(factors.begin() + 1, factors.end() - 1) - factors.begin());
}

void add_factors(PointFigures& figures, const Point& base) {
  const Point& point = *figures.point;
  figures.factors.fill(kUnknown);
  if (point.runs.empty() || base.runs.empty()) return;
  figures.factors = efficiency_factors(*base.runs.front(), *point.runs.front());
  figures.costliest = least_factor(figures.factors);
  for (const RunResult* of_base : base.runs) {
    for (const RunResult* run : point.runs)
      if (least_factor(efficiency_factors(*of_base, *run)) != figures.costliest)
        figures.costliest.reset();
  }
}

/// Of the last steady epoch. A rank that has more images takes longer and is not
/// slow for that: its time counts as if it had those of a mean rank.
StragglerFigures stragglers(const RunResult& run) {
  std::vector<double> medians;
  const EpochFigures& epoch = steady_epochs(run).back();
  for (const RankFigures& rank : epoch.of_ranks) medians.push_back(rank.full_compute.median);
  const auto images = batches_of(run, epoch);
  if (images.size() == medians.size()) {
    const auto all = std::accumulate(images.begin(), images.end(), std::size_t{0});
    const double mean = double(all) / double(images.size());
    for (std::size_t rank = 0; rank < medians.size(); ++rank)
      if (images[rank] > 0) medians[rank] *= mean / double(images[rank]);
  }
  StragglerFigures figures;
  figures.compute = spread_of(medians);
  figures.slowest = std::size_t(std::ranges::find(medians, figures.compute.max) - medians.begin());
  if (figures.slowest < run.ranks.size()) figures.slowest_host = run.ranks[figures.slowest].host;
  return figures;
}

/// What of the epoch is in no phase.
double rest_of(const RunResult& run) {
  const EpochFigures epoch = middle_epoch(run);
  double rest = epoch.seconds;
  for (const Spread& phase : epoch.phases) rest -= phase.mean;
  return rest;
}

void add_spreads(Losses& losses, const Point& base, const Point& point) {
  const double share = double(base.ranks) / double(point.ranks);
  const auto differ = [&](const auto& of) {
    return repeats_differ_by(point, of) + repeats_differ_by(base, of) * share;
  };
  losses.lost_spread = differ([](const RunResult& run) { return middle_epoch(run).seconds; });
  losses.rest_spread = differ(rest_of);
  for (std::size_t p = 0; p < kPhases; ++p) {
    losses.phase_spreads[p] =
        differ([p](const RunResult& run) { return middle_epoch(run).phases[p].mean; });
  }
}

std::optional<Losses> losses(const PointFigures& base, const PointFigures& figures) {
  const Point& point = *figures.point;
  if (figures.of_fewest_ranks() || point.oversubscribed) return {};
  if (figures.run == nullptr || base.run == nullptr) return {};
  const CommunicationFigures& c = figures.communication;
  const double share = double(base.point->ranks) / double(point.ranks);
  Losses result;
  result.lost = result.rest = point.epoch.value - base.point->epoch.value * share;
  for (std::size_t p = 0; p < kPhases; ++p) {
    result.phases[p] = figures.epoch_phases[p] - base.epoch_phases[p] * share;
    result.rest -= result.phases[p];
  }
  if (c.busy > 0) result.waiting = result.phases[kAllReduce] * c.wait / c.busy;
  add_spreads(result, *base.point, point);
  return result;
}

PointFigures evaluate(const std::vector<Series>& all, const Series& series, const Point& point) {
  const double base = double(series.points.front().ranks);
  const double ranks = double(point.ranks) / base;
  PointFigures figures;
  figures.series = &series;
  figures.point = &point;
  figures.images_per_second = per(point.images, point.epoch);
  figures.epoch_view = epoch_speedup(series, point);
  figures.step_view = step_speedup(series, point);
  figures.karp_flatt = karp_flatt(figures.epoch_view.speedup.value / base, ranks);
  figures.gustafson = gustafson_fraction(figures.step_view.speedup.value / base, ranks);
  add_factors(figures, series.points.front());
  figures.device_seconds = double(point.ranks) * point.epoch.value;
  if (!point.runs.empty()) figures.run = point.runs.front();
  figures.communication = communication(all, figures);
  if (figures.run == nullptr) return figures;
  const EpochFigures epoch = middle_epoch(*figures.run);
  figures.step_phases = means_of(figures.run->summary.full_step.phases);
  figures.epoch_phases = means_of(epoch.phases);
  figures.stragglers = stragglers(*figures.run);
  figures.energy = epoch.energy;
  return figures;
}

/// The s that minimises the squares of (T / T(1) - 1/P) - s (1 - 1/P), from one of the three
/// figures of each ratio of times. NaN without a point.
double least_squares_fraction(const Series& series, double Estimate::*figure) {
  const Point& base = series.points.front();
  double above = 0;
  double below = 0;
  for (const Point& point : series.points) {
    if (point.oversubscribed || point.ranks == base.ranks || !known(point.epoch)) continue;
    const double ranks = double(point.ranks) / double(base.ranks);
    const double x = 1 - 1 / ranks;
    above += x * ((point.epoch / base.epoch).*figure - 1 / ranks);
    below += x * x;
  }
  return above / below;
}

}  // namespace

std::optional<Estimate> amdahl_fraction(const Series& series) {
  const Point& base = series.points.front();
  const Estimate fit = {least_squares_fraction(series, &Estimate::value),
                        least_squares_fraction(series, &Estimate::low),
                        least_squares_fraction(series, &Estimate::high)};
  if (base.oversubscribed || std::isnan(fit.value)) return std::nullopt;
  return fit;
}

Estimate amdahl_limit(const Series& series, const Estimate& fraction) {
  return per(double(series.points.front().ranks), fraction);
}

double most_speedup(const Series& series) {
  double most = 0;
  for (const Point& point : series.points) {
    const Estimate speedup = epoch_speedup(series, point).speedup;
    if (!point.oversubscribed && known(speedup)) most = std::max(most, speedup.value);
  }
  return most;
}

double karp_flatt(double speedup, double ranks) noexcept {
  return ranks > 1 ? (1 / speedup - 1 / ranks) / (1 - 1 / ranks) : kUnknown;
}

double gustafson_fraction(double scaled_speedup, double ranks) noexcept {
  return ranks > 1 ? (ranks - scaled_speedup) / (ranks - 1) : kUnknown;
}

StudyFigures evaluate(const std::vector<Series>& all) {
  StudyFigures result;
  for (const Series& series : all) {
    SeriesFigures figures{.series = &series, .points = {}};
    for (const Point& point : series.points) {
      figures.points.push_back(evaluate(all, series, point));
      figures.points.back().losses = losses(figures.points.front(), figures.points.back());
    }
    result.push_back(std::move(figures));
  }
  return result;
}

EpochParts epoch_parts(const PointFigures& figures) {
  const Point& point = *figures.point;
  const Spread& step = figures.run->summary.full_step.slowest;
  const auto images = std::size_t(point.images);
  // Whole steps only. NOLINTNEXTLINE(bugprone-integer-division)
  const auto full_steps = double(images / point.global_batch);
  // The step's mean is over all of them, too.
  const auto epochs = values_of(steady_epochs(*figures.run), &EpochFigures::seconds);
  EpochParts parts;
  parts.partial_images = images % point.global_batch;
  parts.slow_steps = full_steps * (step.mean - step.median);
  parts.partial = spread_of(epochs).mean - full_steps * step.mean;
  parts.partial_by_images = step.median * double(parts.partial_images) / double(point.global_batch);
  return parts;
}

}  // namespace rueda
