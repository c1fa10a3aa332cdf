#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/split.hpp"
#include "display/text.hpp"
#include "predict/predict.hpp"
#include "study/observation.hpp"

namespace rueda::predict {
namespace {

/// How the run summed its large buckets.
Scheme scheme_of(const RunResult& run) {
  if (run.sums_by("hierarchical")) return Scheme::hierarchical;
  if (run.sums_by("doubling") && !run.sums_by("ring")) return Scheme::doubling;
  return Scheme::ring;
}

bool is_of_network(const RunResult& run, const CostFit& fit) {
  return run.config.model.name == fit.network && image_size_of(run) == fit.image_size &&
         run.classes == fit.classes;
}

/// Of the same ranks, batch, images and overlap.
Scenario scenario_of(const RunResult& run) {
  return {.ranks = run.world_size(),
          .global_batch = run.global_batch,
          .images = std::size_t(observe(run).images),
          .micro_batches = run.config.batch.accumulate,
          .scheme = scheme_of(run),
          .overlap = run.overlaps};
}

/// With the buckets that the run had.
CostModel with_buckets_of(CostModel model, const RunResult& run, const Graph& graph) {
  if (!run.bucket_bytes.empty()) model.buckets = bucket_schedule(graph, run.bucket_bytes);
  return model;
}

/// Seconds of a step's sums, without waiting for ranks that come later.
double summing_seconds(const RunResult& run) {
  return run.summary.all_steps.mean.transfer.mean + run.summary.all_steps.mean.add.mean;
}

bool is_unknown(double error) { return !std::isfinite(error); }

/// The standard deviation of such errors around 0, which one parameter was fitted to. Drops those
/// that are unknown.
double deviation_of(std::vector<double>& errors) {
  std::erase_if(errors, is_unknown);
  double squares = 0;
  for (const double error : errors) squares += error * error;
  return std::sqrt(squares / (double(errors.size()) - 1));
}

/// Which of its values Student's t exceeds with a probability of 5 % (Cornish
/// and Fisher's series: M. Abramowitz, I. Stegun: *Handbook of Mathematical
/// Functions*, 26.7.5).
double t_of(std::size_t freedom) {
  const auto n = double(freedom);
  return 1.6449 + 1.5237 / n + 1.4198 / (n * n) + 0.9832 / (n * n * n);
}

/// Of the runs whose sums go over links, and of records of such sums; 0 where there are several.
std::size_t only_ranks_of(const Runs& runs, const Benches& benches) {
  std::set<std::size_t> counts;
  for (const RunResult& run : runs)
    if (run.sums_go_over_links()) counts.insert(run.world_size());
  for (const BenchResult& bench : benches) counts.insert(bench.ranks);
  counts.erase(1);
  if (counts.size() != 1) return 0;
  return *counts.begin();
}

Fields fields_of(const RunResult& run, const Observation& seen, const Forecast& forecast,
                 const char* fitted, double error) {
  const StepForecast& step = forecast.full;
  const StepBreakdown& measured = run.summary.full_step;
  const double exposed = measured.phases[kAllReduce].mean;
  const char* overlap = run.overlaps ? "on" : "off";
  return {{"ranks", "P", Show::count, double(seen.ranks)},
          {"global_batch", "batch", Show::count, double(run.global_batch)},
          {"overlap", "overlap", Show::text, overlap},
          {"all_reduce", "summed by", Show::text, run.all_reduce},
          {"fitted", "fitted", Show::text, fitted},
          {"measured_epoch_seconds", "epoch, s", Show::seconds, seen.epoch.value},
          {"predicted_epoch_seconds", "predicted", Show::seconds, forecast.seconds},
          {"relative_error", "error, %", Show::percent, error},
          {"plus_minus", "+-, %", Show::percent, forecast.plus_minus.epoch},
          {"measured_step_seconds", "step, ms", Show::millis, measured.step.mean},
          {"predicted_step_seconds", "predicted", Show::millis, step.seconds()},
          {"measured_exposed_seconds", "all_reduce, ms", Show::millis, exposed},
          {"predicted_exposed_seconds", "predicted", Show::millis, step.exposed + step.straggling},
          {"measured_sum_seconds", "sums, ms", Show::millis, summing_seconds(run)},
          {"predicted_sum_seconds", "predicted", Show::millis, step.all_reduce},
          {"run", "run", Show::text, run.file.parent_path().filename().string()}};
}

std::string error_note(const std::vector<double>& errors) {
  const Spread spread = spread_of(errors);
  return fmt::format(
      "For the {} that the model was not fitted to, the epoch time is off by {:.1f} % in the mean "
      "and {:.1f} % at most.",
      counted(errors.size(), "run"), spread.mean, spread.max);
}

/// Share of the epoch's steps that its images do not fill.
double unfilled(const Scenario& scenario) {
  const auto images = double(scenario.images);
  const auto batch = double(scenario.global_batch);
  const std::size_t steps = pieces(scenario.images, scenario.global_batch);
  return 1 - images / batch / double(steps);
}

/// Unknown where nothing was lost.
double share_of(double seconds, double lost) {
  if (!(lost > 0)) return kUnknown;
  return seconds / lost;
}

/// `ideal`: seconds with perfect scaling. `partial`: more than the partial last
/// step can have cost, which is what it would if it took as long as a full step
/// and not as long as its images.
Fields loss_fields(const MeasuredEpoch& measured, double ideal, const EpochForecast& forecast,
                   double partial) {
  const auto& [ranks, seconds] = measured;
  double lost = seconds - ideal;
  double all_reduce =
      double(forecast.full_steps) * forecast.full.exposed + forecast.partial.exposed;
  double left = std::max(0.0, lost - all_reduce - partial);
  if (ranks == 1) lost = all_reduce = partial = left = kUnknown;  // one rank loses nothing
  return {{"ranks", "P", Show::count, double(ranks)},
          {"measured_seconds", "epoch, s", Show::seconds, seconds},
          {"efficiency", "eff., %", Show::percent, ideal / seconds},
          {"lost_seconds", "lost, s", Show::seconds, lost},
          {"all_reduce_seconds", "all-reduce, s", Show::seconds, all_reduce},
          {"all_reduce_share", "share, %", Show::percent, share_of(all_reduce, lost)},
          {"partial_at_most_seconds", "partial <=, s", Show::seconds, partial},
          {"partial_at_most_share", "share, %", Show::percent, share_of(partial, lost)},
          {"unexplained_seconds", "left >=, s", Show::seconds, left}};
}

}  // namespace

double Certainty::half_interval(double value, const std::vector<double>& others,
                                double single) const {
  if (freedom == 0 || others.empty()) return kUnknown;
  const double of_fit = spread_of(others).deviation * std::sqrt(double(others.size()) - 1) / value;
  return t_of(freedom) * std::hypot(of_fit, single);
}

/// The other extreme than the model: from one measured number of ranks to this
/// one, a step with as many images a rank does not change at all.
PlusMinus Certainty::widened(PlusMinus half, const CostModel& model,
                             const Scenario& scenario) const {
  if (!is_widened(scenario)) return half;
  const std::size_t images = std::min(scenario.global_batch, scenario.images);
  const std::size_t each = pieces(images, scenario.ranks);
  Scenario measured = scenario;
  measured.ranks = only_ranks;
  const StepForecast here = forecast_step(model, scenario, images);
  const StepForecast there = forecast_step(model, measured, each * only_ranks);
  const double of_step = there.seconds() / here.seconds() - 1;
  half.epoch = std::hypot(half.epoch, of_step);
  half.speedup = std::hypot(half.speedup, of_step);
  half.all_reduce = std::hypot(half.all_reduce, there.all_reduce / here.all_reduce - 1);
  return half;
}

std::string Certainty::note() const {
  return fmt::format(
      "P = {} is the only number of ranks above 1 that was measured, so nothing shows how times "
      "change with P. The intervals of other P contain the whole change that the model predicts "
      "from P = {} on: measure another P for narrower ones.",
      only_ranks, only_ranks);
}

PlusMinus Certainty::of(const CostModel& model, const Scenario& scenario,
                        const Scenario& one_rank) const {
  const auto one = [&](const CostModel& m) { return forecast_epoch(m, one_rank).seconds; };
  const auto epoch = [&](const CostModel& m) { return forecast_epoch(m, scenario).seconds; };
  const auto speedup = [&](const CostModel& m) { return one(m) / epoch(m); };
  const auto sum = [&](const CostModel& m) { return forecast_epoch(m, scenario).full.all_reduce; };
  const double of_two = std::hypot(single(model, one), single(model, epoch));
  const PlusMinus half = {half_interval(model, epoch),
                          half_interval(speedup(model), values_of(without_one, speedup), of_two),
                          half_interval(model, sum)};
  return widened(half, model, scenario);
}

Certainty certainty_of(const Runs& fitted, const CostFit& fit, const Benches& benches,
                       const Target& target, const Given& given) {
  const Graph graph = graph_of(fit);
  Certainty certainty;
  std::vector<double> steps, sums;  // errors
  for (const RunResult& run : fitted) {
    if (is_of_network(run, fit)) {
      const auto [compute, rest, late, exposed, all_reduce] =
          forecast_epoch(with_buckets_of(fit.model, run, graph), scenario_of(run)).full;
      const StepBreakdown& measured = run.summary.full_step;
      const double waited = measured.phases[kAllReduce].mean;
      steps.push_back((measured.step.mean - waited) / (compute + rest) - 1);
      if (run.sums_go_over_links()) sums.push_back(summing_seconds(run) / all_reduce - 1);
    }
    Runs others = fitted;
    others.erase(others.begin() + (&run - fitted.data()));
    try {
      const CostFit without = fit_cost(others, benches, target, given, &fit.model);
      certainty.without_one.push_back(without.model);
    } catch (const InputError&) {
      return {};
    }
  }
  certainty.only_ranks = only_ranks_of(fitted, benches);
  certainty.compute = deviation_of(steps);
  certainty.sums = deviation_of(sums);
  certainty.freedom = std::max<std::size_t>(std::min(steps.size(), sums.size()), 1) - 1;
  return certainty;
}

namespace {

/// What is predicted for a run's settings, with the interval of its epoch.
Forecast forecast_like(const RunResult& run, const CostFit& fit, const Certainty& certainty,
                       const Graph& graph) {
  const Scenario scenario = scenario_of(run);
  const auto forecast_by = [&](const CostModel& model) {
    return forecast_epoch(with_buckets_of(model, run, graph), scenario);
  };
  const auto epoch = [&](const CostModel& model) { return forecast_by(model).seconds; };
  Forecast forecast{forecast_by(fit.model)};
  forecast.plus_minus = certainty.widened({.epoch = certainty.half_interval(fit.model, epoch)},
                                          with_buckets_of(fit.model, run, graph), scenario);
  return forecast;
}

}  // namespace

Table comparison_table(Runs runs, const CostFit& fit, const Certainty& certainty,
                       const std::vector<std::size_t>& fit_ranks) {
  std::erase_if(runs, [&](const RunResult& run) { return !is_of_network(run, fit); });
  std::ranges::stable_sort(runs, {}, &RunResult::world_size);
  const Graph graph = graph_of(fit);
  std::vector<double> errors;  // %
  std::size_t inside = 0;
  bool widened = false;
  Table table{
      .id = "measured",
      .title = "Predicted and measured",
      .notes = {
          "error: (predicted - measured) / measured epoch time. +-: half of the 90 % interval of a "
          "single run. step: a full one, mean over ranks. all_reduce: how long it waited for the "
          "sum; predicted: straggling + exposed, since a mean rank waits for the slowest there. "
          "sums: hidden or not, without waiting for later ranks. fitted: whether the model was "
          "fitted to this run. Sums in shared memory are predicted as a ring's."}};
  for (const RunResult& run : runs) {
    const Forecast forecast = forecast_like(run, fit, certainty, graph);
    widened |= certainty.is_widened(forecast.scenario);
    const Observation seen = observe(run);
    const bool fitted = !seen.oversubscribed &&
                        (fit_ranks.empty() || std::ranges::count(fit_ranks, seen.ranks) > 0);
    const double error = forecast.seconds / seen.epoch.value - 1;
    if (!fitted) {
      errors.push_back(100 * std::abs(error));
      inside += std::abs(seen.epoch.value / forecast.seconds - 1) <= forecast.plus_minus.epoch;
    }
    table.add_fields(fields_of(run, seen, forecast, fitted ? "yes" : "no", error));
  }
  if (widened) table.notes.push_back(certainty.note());
  if (errors.empty()) return table;
  table.notes.push_back(error_note(errors));
  if (certainty.freedom > 0)
    table.notes.back() += fmt::format(" {} of them lie in their interval.", inside);
  return table;
}

Table loss_table(const CostModel& model, const std::vector<MeasuredEpoch>& measured,
                 const std::vector<Scenario>& scenarios) {
  const auto one = std::ranges::find(measured, std::size_t{1}, &MeasuredEpoch::ranks);
  require(one != measured.end(),
          "--measured has no epoch on one rank, with which others are compared: give 1:TIME");
  const double unfilled_on_one = unfilled(scenarios.at(std::size_t(one - measured.begin())));
  Table table{
      .id = "loss",
      .title = "Measured epochs, and what explains their loss",
      .notes = {
          "lost: T(P) - T(1)/P. all-reduce: exposed communication of all steps, predicted. share: "
          "of lost. left: the rest.",
          "partial: the cost of the last, partial step beyond its share of images if it took as "
          "long as a full one; nothing if its time follows its images. Less the same on one rank, "
          "divided by P."}};
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double ideal = one->seconds / double(measured[i].ranks);
    const double partial =
        measured[i].seconds * unfilled(scenarios.at(i)) - ideal * unfilled_on_one;
    table.add_fields(loss_fields(measured[i], ideal, forecast_epoch(model, scenarios[i]), partial));
  }
  return table;
}

}  // namespace rueda::predict
