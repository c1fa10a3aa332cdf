#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rueda/core/error.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/display/text.hpp"
#include "rueda/model/registry.hpp"
#include "rueda/predict/predict.hpp"
#include "rueda/study/observation.hpp"

namespace rueda::predict {
namespace {

/// How the run summed its large buckets.
Scheme scheme_of(const RunResult& run) {
  if (run.sums_by("hierarchical")) return Scheme::hierarchical;
  return run.sums_by("doubling") && !run.sums_by("ring") ? Scheme::doubling : Scheme::ring;
}

/// Of the same ranks, batch, images, buckets and overlap.
EpochForecast forecast_of(const RunResult& run, const CostFit& fit, const Graph& graph) {
  CostModel model = fit.model;
  if (!run.bucket_bytes.empty()) model.buckets = bucket_schedule(graph, run.bucket_bytes);
  return forecast_epoch(model, {.ranks = run.world_size(),
                                .global_batch = run.global_batch,
                                .images = std::size_t(observe(run).images),
                                .micro_batches = run.micro_batches,
                                .scheme = scheme_of(run),
                                .overlap = run.overlaps});
}

Fields fields_of(const RunResult& run, const Observation& seen, const EpochForecast& forecast,
                 const char* fitted, double error) {
  const StepForecast& step = forecast.full;
  const MeanStep& measured = run.steady_full_step;
  const double exposed = measured.phases[std::size_t(Phase::all_reduce)];
  return {{"ranks", "P", Show::count, double(seen.ranks)},
          {"global_batch", "batch", Show::count, double(run.global_batch)},
          {"overlap", "overlap", Show::text, run.overlaps ? "on" : "off"},
          {"fitted", "fitted", Show::text, fitted},
          {"measured_epoch_seconds", "epoch, s", Show::seconds, seen.epoch.value},
          {"predicted_epoch_seconds", "predicted", Show::seconds, forecast.seconds},
          {"relative_error", "error, %", Show::percent, error},
          {"measured_step_seconds", "step, ms", Show::millis, measured.seconds},
          {"predicted_step_seconds", "predicted", Show::millis, step.seconds()},
          {"measured_exposed_seconds", "all_reduce, ms", Show::millis, exposed},
          {"predicted_exposed_seconds", "predicted", Show::millis, step.exposed + step.straggling},
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
  const std::size_t steps = (scenario.images + scenario.global_batch - 1) / scenario.global_batch;
  return 1 - images / batch / double(steps);
}

/// `ideal`: seconds with perfect scaling. `partial`: more than the partial last
/// step can have cost, which is what it would if it took as long as a full step
/// and not as long as its images.
Fields loss_fields(const MeasuredEpoch& measured, double ideal, const EpochForecast& forecast,
                   double partial) {
  const auto& [ranks, seconds] = measured;
  const double lost = seconds - ideal;
  const double all_reduce =
      double(forecast.full_steps) * forecast.full.exposed + forecast.partial.exposed;
  const double left = std::max(0.0, lost - all_reduce - partial);
  const bool several = ranks > 1;  // one rank loses nothing
  const auto part = [&](double of_lost) { return several ? of_lost : kUnknown; };
  const auto share = [&](double of_lost) { return lost > 0 ? part(of_lost) / lost : kUnknown; };
  return {{"ranks", "P", Show::count, double(ranks)},
          {"measured_seconds", "epoch, s", Show::seconds, seconds},
          {"efficiency", "eff., %", Show::percent, ideal / seconds},
          {"lost_seconds", "lost, s", Show::seconds, part(lost)},
          {"all_reduce_seconds", "all-reduce, s", Show::seconds, part(all_reduce)},
          {"all_reduce_share", "share, %", Show::percent, share(all_reduce)},
          {"partial_at_most_seconds", "partial <=, s", Show::seconds, part(partial)},
          {"partial_at_most_share", "share, %", Show::percent, share(partial)},
          {"unexplained_seconds", "left >=, s", Show::seconds, part(left)}};
}

}  // namespace

Table comparison_table(Runs runs, const CostFit& fit, const std::vector<std::size_t>& fit_ranks) {
  std::erase_if(runs, [&](const RunResult& run) {
    return run.model != fit.network || run.image_size != fit.image_size;
  });
  std::ranges::stable_sort(runs, {}, &RunResult::world_size);
  const Graph graph = build_model(fit.network, int(fit.image_size), kClasses);
  std::vector<double> errors;  // %
  Table table{
      .id = "measured",
      .title = "Predicted and measured",
      .notes = {
          "error: (predicted - measured) / measured epoch time. step: a full one, mean over ranks. "
          "all_reduce: how long it waited for the sum; predicted: straggling + exposed, since a "
          "mean rank waits for the slowest there. fitted: whether the model was fitted to this "
          "run."}};
  for (const RunResult& run : runs) {
    const EpochForecast forecast = forecast_of(run, fit, graph);
    const Observation seen = observe(run);
    const bool fitted = !seen.oversubscribed &&
                        (fit_ranks.empty() || std::ranges::count(fit_ranks, seen.ranks) > 0);
    const double error = forecast.seconds / seen.epoch.value - 1;
    if (!fitted) errors.push_back(100 * std::abs(error));
    table.add_fields(fields_of(run, seen, forecast, fitted ? "yes" : "no", error));
  }

  if (!errors.empty()) table.notes.push_back(error_note(errors));
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
