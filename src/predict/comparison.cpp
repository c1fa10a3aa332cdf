#include <algorithm>
#include <stdexcept>

#include "rueda/core/error.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/model/registry.hpp"
#include "rueda/predict/tables.hpp"
#include "rueda/study/observation.hpp"

namespace rueda::predict {
namespace {

bool contains(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

/// How the run summed its large buckets.
Scheme scheme_of(const RunResult& run) {
  if (contains(run.all_reduce, "hierarchical")) return Scheme::hierarchical;
  const bool ring = contains(run.all_reduce, "ring");
  return contains(run.all_reduce, "doubling") && !ring ? Scheme::doubling : Scheme::ring;
}

Scenario scenario_of(const RunResult& run, double images) {
  return {.ranks = run.world_size(),
          .global_batch = run.global_batch,
          .images = static_cast<std::size_t>(images),
          .micro_batches = run.micro_batches,
          .scheme = scheme_of(run),
          .overlap = run.overlaps,
          .message_delay = 0};
}

Comparison compare(const RunResult& run, const CostFit& fit, const Graph& graph) {
  const Observation seen = observe(run);
  CostModel model = fit.model;
  if (!run.bucket_bytes.empty()) model.buckets = bucket_schedule(graph, run.bucket_bytes);
  Comparison result;
  result.run = &run;
  result.epoch_seconds = seen.epoch.value;
  result.step_seconds = run.steady_full_step.seconds.mean;
  result.exposed_seconds =
      run.steady_full_step.phases[static_cast<std::size_t>(Phase::all_reduce)].mean;
  result.forecast = forecast_epoch(model, scenario_of(run, seen.images));
  return result;
}

/// Share of the epoch's steps that its images do not fill.
double unfilled(const Scenario& scenario) {
  const auto images = double(scenario.images);
  const auto batch = double(scenario.global_batch);
  const std::size_t steps = (scenario.images + scenario.global_batch - 1) / scenario.global_batch;
  return 1 - images / batch / double(steps);
}

const Scenario& scenario_on(const std::vector<Scenario>& scenarios, std::size_t ranks) {
  const auto found = std::ranges::find(scenarios, ranks, &Scenario::ranks);
  if (found == scenarios.end()) throw std::logic_error("no scenario for a measured epoch");
  return *found;
}

}  // namespace

std::vector<Comparison> compare(const std::vector<RunResult>& runs, const CostFit& fit,
                                const std::vector<std::size_t>& fit_ranks) {
  const Graph graph = build_model(fit.network, static_cast<int>(fit.image_size), kClasses);
  std::vector<Comparison> all;
  for (const RunResult& run : runs) {
    if (run.model != fit.network || run.image_size != fit.image_size) continue;
    all.push_back(compare(run, fit, graph));
    all.back().fitted = !observe(run).oversubscribed &&
                        (fit_ranks.empty() || std::ranges::count(fit_ranks, run.world_size()) > 0);
  }
  std::ranges::stable_sort(all, {}, [](const Comparison& c) { return c.run->world_size(); });
  return all;
}

std::vector<Loss> explain_losses(const CostModel& model, const std::vector<MeasuredEpoch>& measured,
                                 const std::vector<Scenario>& scenarios) {
  const auto one = std::ranges::find(measured, std::size_t{1}, &MeasuredEpoch::ranks);
  if (one == measured.end()) {
    throw InputError(
        "--measured has no epoch on one rank, with which others are compared: give 1:TIME");
  }
  std::vector<Loss> losses;
  for (const MeasuredEpoch& epoch : measured) {
    const Scenario& scenario = scenario_on(scenarios, epoch.ranks);
    const auto p = double(epoch.ranks);
    const EpochForecast forecast = forecast_epoch(model, scenario);
    Loss loss{.ranks = epoch.ranks, .measured = epoch.seconds};
    loss.lost = epoch.seconds - one->seconds / p;
    loss.efficiency = one->seconds / p / epoch.seconds;
    loss.all_reduce =
        double(forecast.full_steps) * forecast.full.exposed + forecast.partial.exposed;
    loss.partial_at_most =
        epoch.seconds * unfilled(scenario) - one->seconds / p * unfilled(scenario_on(scenarios, 1));
    losses.push_back(loss);
  }
  return losses;
}

}  // namespace rueda::predict
