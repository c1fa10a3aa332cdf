#include "rueda/predict/cost_fit.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "rueda/core/error.hpp"
#include "rueda/core/printable.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/model/flops.hpp"
#include "rueda/model/registry.hpp"
#include "rueda/report/number_text.hpp"
#include "rueda/study/observation.hpp"

namespace rueda::predict {
namespace {

constexpr std::size_t kUsualImageSize = 32;
constexpr std::size_t kMegabyte = 1'000'000;
constexpr double kUsualBucketMb = 25;

/// The runs that tell the compute time, and of which network they are.
struct Chosen {
  std::string network;
  std::size_t image_size = 0;
  std::vector<RunResult> runs;  ///< of one network, on one kind of device
  std::string ran;              ///< that network
};

std::string words(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text;
}

std::set<std::string> networks_of(const std::vector<RunResult>& runs) {
  std::set<std::string> names;
  for (const RunResult& run : runs) names.insert(run.model);
  return names;
}

/// The network whose runs are to be gone by.
std::string network_that_ran(const std::vector<RunResult>& runs, const std::string& wanted) {
  const auto names = networks_of(runs);
  if (names.count(wanted) > 0 || names.empty()) return wanted;
  if (names.size() == 1) return *names.begin();
  const std::string which = wanted.empty() ? "say by --model which one is meant"
                                           : "give the runs of one of them, for " +
                                                 printable(wanted) + " to be taken from it";
  throw InputError("the runs are of " + words(names) + ": " + which);
}

void require_one_kind(const std::vector<RunResult>& runs) {
  std::set<std::string> kinds;
  for (const RunResult& run : runs) {
    kinds.insert(run.ranks.front().backend + " in " + run.precision + " at " +
                 std::to_string(run.image_size) + " pixels");
  }
  if (kinds.size() > 1) {
    throw InputError("the runs to fit the compute time to are not of one kind: " + words(kinds) +
                     "; give those of one");
  }
}

Chosen choose(const std::vector<RunResult>& runs, const Target& target) {
  Chosen chosen;
  chosen.ran = network_that_ran(runs, target.model);
  for (const RunResult& run : runs) {
    if (run.model == chosen.ran) chosen.runs.push_back(run);
  }
  require_one_kind(chosen.runs);
  chosen.network = target.model.empty() ? chosen.ran : target.model;
  if (chosen.network.empty()) throw InputError("no run and no --model: nothing says which network");
  chosen.image_size = target.image_size;
  if (chosen.image_size == 0) {
    chosen.image_size = chosen.runs.empty() ? kUsualImageSize : chosen.runs.front().image_size;
  }
  return chosen;
}

Graph graph_of(const std::string& network, std::size_t image_size) {
  return build_model(network, static_cast<int>(image_size), kClasses);
}

/// For a network or an image size that was not run: by FLOPs.
void scale_by_flops(CostFit& fit, const Chosen& chosen, const Graph& graph) {
  const RunResult& ran = chosen.runs.front();
  const Graph other = graph_of(ran.model, ran.image_size);
  const double factor =
      static_cast<double>(training_flops(graph)) / static_cast<double>(training_flops(other));
  fit.model.compute.per_image *= factor;
  fit.model.compute.update *=
      static_cast<double>(graph.parameter_count()) / static_cast<double>(other.parameter_count());
  fit.notes.push_back(fmt::format(
      "{} at {} pixels was not run: its time an image is that of {} at {} pixels times {:.3g}, "
      "the ratio of FLOPs, as if both reached as many a second.",
      chosen.network, chosen.image_size, ran.model, ran.image_size, factor));
}

ComputeModel given_compute(const Given& given) {
  ComputeModel model;
  model.fixed = given.fixed.value_or(0);
  model.per_image = (*given.step_seconds - model.fixed) / static_cast<double>(given.batch);
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
        "nothing tells the compute time: give run directories, or --compute with the time of a "
        "step of --batch-per-rank images on one rank");
  }
  fit.compute = fit_compute(chosen.runs);
  fit.model.compute = fit.compute->model;
  if (given.fixed) fit.model.compute.fixed = *given.fixed;
  if (!fit.compute->fit.separable) {
    fit.notes.push_back(fmt::format(
        "All runs had {} images in a micro-batch, so t0, the time that does not depend on the "
        "batch, cannot be told from t1: it is taken as {}. Other batches and the last, partial "
        "step of an epoch are uncertain by it.",
        fit.compute->batches.front(), given.fixed ? "given" : "0"));
  }
  const bool ran =
      chosen.network == chosen.ran && chosen.image_size == chosen.runs.front().image_size;
  if (!ran) scale_by_flops(fit, chosen, graph);
}

/// What is given, else what was fitted. Nothing where a half is missing.
std::optional<Link> link_of(const std::optional<double>& alpha,
                            const std::optional<double>& bandwidth,
                            const std::optional<LinkFit>& fitted) {
  if (!fitted && (!alpha || !bandwidth)) return std::nullopt;
  Link link = fitted ? fitted->link : Link{};
  if (alpha) link.alpha = *alpha;
  if (bandwidth) link.beta = 1 / *bandwidth;
  return link;
}

void set_one_level(CostFit& fit, const Given& given) {
  const auto& fitted = fit.machine.between ? fit.machine.between : fit.machine.inside;
  const auto link = link_of(given.alpha, given.bandwidth, fitted);
  if (!link) {
    throw InputError(
        "nothing tells what a message costs: give runs on 2 ranks or more, a record of rueda bench "
        "all-reduce by --bench, or --alpha and --bandwidth");
  }
  fit.model.machine.between = *link;
  fit.model.machine.ranks_per_node = 1;
  if (!fit.machine.between && !(given.alpha && given.bandwidth)) {
    fit.notes.emplace_back(
        "All ranks are taken to be joined by links as between the ranks of one host, which is all "
        "that was measured. For several nodes give --ranks-per-node, --alpha and --bandwidth.");
  }
}

void set_two_levels(CostFit& fit, const Target& target, const Given& given) {
  const auto inside = link_of(given.inside_alpha, given.inside_bandwidth, fit.machine.inside);
  const auto between = link_of(given.alpha, given.bandwidth, fit.machine.between);
  if (!inside) {
    throw InputError(
        "nothing tells what a message costs within a node: give runs or a record of rueda bench on "
        "2 ranks or more of one host, or --inside-alpha and --inside-bandwidth");
  }
  if (!between) {
    throw InputError(
        "nothing tells what a message costs between nodes: give runs or a record of rueda bench on "
        "several hosts, or --alpha and --bandwidth");
  }
  fit.model.machine.inside = *inside;
  fit.model.machine.between = *between;
  fit.model.machine.ranks_per_node = target.ranks_per_node;
}

void set_machine(CostFit& fit, const Target& target, const Given& given) {
  fit.model.machine.gamma = fit.machine.gamma;
  fit.model.machine.links_per_node = target.links_per_node;
  target.ranks_per_node == 0 ? set_one_level(fit, given) : set_two_levels(fit, target, given);
  const double noise = fit.machine.message_noise;
  fit.model.message_noise = given.message_noise.value_or(std::isnan(noise) ? 0 : noise);
  fit.notes.insert(fit.notes.end(), fit.machine.notes.begin(), fit.machine.notes.end());
  if (fit.machine.gamma == 0) {
    fit.notes.emplace_back(
        "Nothing tells the time of adding apart from that of messages: gamma is "
        "0, and what it took is in beta.");
  }
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
    fit.notes.emplace_back("Nothing tells how the ranks' steps vary: no rank is taken to be slow.");
    return;
  }
  fit.notes.push_back(fmt::format(
      "Stragglers are foreseen from {} steps of a rank{}: slower ones than the slowest of these "
      "cannot be, so from about as many ranks on the figure is too low. Ranks and steps are taken "
      "as independent of each other.",
      count_text(fit.noise.samples),
      fit.noise.from_steps ? "" : ", of which the quantiles are known"));
}

}  // namespace

std::vector<RunResult> usable_runs(const std::vector<RunResult>& runs,
                                   std::vector<std::string>& notes) {
  std::vector<RunResult> usable;
  for (const RunResult& run : runs) {
    if (observe(run).oversubscribed) {
      notes.push_back(run.file.string() +
                      " ran more threads than it had cores, which measures the scheduler: it is "
                      "shown beside the prediction, but nothing is fitted to it.");
    } else {
      usable.push_back(run);
    }
  }
  return usable;
}

CostFit fit_cost(const std::vector<RunResult>& runs, const std::vector<BenchResult>& benches,
                 const Target& target, const Given& given) {
  const Chosen chosen = choose(runs, target);
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
