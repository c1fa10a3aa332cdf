#include "rueda/predict/cost_fit.hpp"

#include <fmt/format.h>

#include "cost_parts.hpp"
#include "rueda/core/error.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/display/number_text.hpp"
#include "rueda/model/flops.hpp"
#include "rueda/model/registry.hpp"
#include "rueda/study/observation.hpp"

namespace rueda::predict {
namespace {

constexpr std::size_t kMegabyte = 1'000'000;
constexpr double kUsualBucketMb = 25;

Graph graph_of(const std::string& network, std::size_t image_size) {
  return build_model(network, static_cast<int>(image_size), kClasses);
}

/// For a network or an image size that was not run: by FLOPs.
void scale_by_flops(CostFit& fit, const Chosen& chosen, const Graph& graph) {
  const RunResult& ran = chosen.runs.front();
  const Graph other = graph_of(ran.model, ran.image_size);
  const double factor = double(training_flops(graph)) / double(training_flops(other));
  fit.model.compute.per_image *= factor;
  fit.model.compute.update *= double(graph.parameter_count()) / double(other.parameter_count());
  fit.notes.push_back(fmt::format(
      "{} at {} pixels was not run: its time of an image is that of {} at {} pixels times {:.3g}, "
      "the ratio of FLOPs. This assumes the same FLOPs a second for both.",
      chosen.network, chosen.image_size, ran.model, ran.image_size, factor));
}

ComputeModel given_compute(const Given& given) {
  ComputeModel model;
  model.fixed = given.fixed.value_or(0);
  model.per_image = (*given.step_seconds - model.fixed) / double(given.batch);
  if (model.per_image < 0) {
    throw InputError("--fixed is more than --compute, the whole step: give less");
  }
  return model;
}

void set_compute(CostFit& fit, const Chosen& chosen, const Given& given, const Graph& graph) {
  if (given.step_seconds) {
    fit.model.compute = given_compute(given);
    return;
  }
  if (chosen.runs.empty()) {
    throw InputError(
        "the compute time is unknown: give run directories, or --compute with the time of a step "
        "of --batch-per-rank images on one rank");
  }
  fit.compute = fit_compute(chosen.runs);
  fit.model.compute = fit.compute->model;
  if (given.fixed) fit.model.compute.fixed = *given.fixed;
  if (!fit.compute->fit.separable) {
    fit.notes.push_back(fmt::format(
        "All runs had {} images in a micro-batch, so the fit cannot separate t0, the time that "
        "does not depend on the batch, from t1: t0 is taken as {}. This makes predictions of other "
        "batches and of the last, partial step of an epoch uncertain.",
        fit.compute->batches.front(), given.fixed ? "given" : "0"));
  }
  const bool ran =
      chosen.network == chosen.ran && chosen.image_size == chosen.runs.front().image_size;
  if (!ran) scale_by_flops(fit, chosen, graph);
}

void set_buckets(CostFit& fit, const Chosen& chosen, const Target& target, const Graph& graph) {
  const bool as_run = !target.bucket_mb && !chosen.runs.empty() && chosen.network == chosen.ran &&
                      !chosen.runs.front().bucket_bytes.empty();
  if (as_run) {
    fit.model.buckets = bucket_schedule(graph, chosen.runs.front().bucket_bytes);
    return;
  }
  const double bytes = target.bucket_mb.value_or(kUsualBucketMb) * kMegabyte;
  fit.model.buckets = bucket_schedule(graph, static_cast<std::size_t>(bytes));
}

void set_noise(CostFit& fit, const Chosen& chosen) {
  fit.noise = fit_noise(chosen.runs);
  fit.model.noise = fit.noise.noise;
  if (fit.noise.samples == 0) {
    fit.notes.emplace_back(
        "How much the steps of the ranks vary was not measured: all ranks are predicted to be "
        "equally fast.");
    return;
  }
  fit.notes.push_back(
      fmt::format("The prediction of stragglers is based on {} steps of single ranks{}. It never "
                  "exceeds the slowest of these steps, so for more ranks than that it is too low. "
                  "Ranks and steps are taken as independent of each other.",
                  count_text(fit.noise.samples),
                  fit.noise.from_steps ? "" : ", of which only quantiles are known"));
}

}  // namespace

std::vector<RunResult> usable_runs(const std::vector<RunResult>& runs,
                                   std::vector<std::string>& notes) {
  std::vector<RunResult> usable;
  for (const RunResult& run : runs) {
    if (observe(run).oversubscribed) {
      notes.push_back(run.file.string() +
                      " ran more threads than it had cores, so its times also depend on the "
                      "scheduler: it is shown with its prediction, but not used for the fit.");
    } else {
      usable.push_back(run);
    }
  }
  return usable;
}

CostFit fit_cost(const std::vector<RunResult>& runs, const std::vector<BenchResult>& benches,
                 const Target& target, const Given& given) {
  const Chosen chosen = choose_runs(runs, target);
  const Graph graph = graph_of(chosen.network, chosen.image_size);
  CostFit fit;
  fit.network = chosen.network;
  fit.image_size = chosen.image_size;
  std::optional<double> gamma;
  if (given.add_rate) gamma = 1 / *given.add_rate;
  fit.machine = fit_machine(runs, benches, gamma);
  set_compute(fit, chosen, given, graph);
  set_machine(fit, target, given);
  set_buckets(fit, chosen, target, graph);
  set_noise(fit, chosen);
  return fit;
}

}  // namespace rueda::predict
