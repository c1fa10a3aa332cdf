#include <cmath>
#include <map>
#include <ranges>
#include <set>

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "display/text.hpp"
#include "model/flops.hpp"
#include "model/registry.hpp"
#include "predict/predict.hpp"
#include "rueda/data/dataset.hpp"
#include "study/observation.hpp"

namespace rueda::predict {
namespace {

constexpr std::size_t kUsualImageSize = 32;
constexpr std::size_t kMegabyte = 1'000'000;
constexpr double kUsualBucketMb = 25;

std::string words(const std::set<std::string>& names) {
  return fmt::format("{}", fmt::join(names | std::views::transform(printable), ", "));
}

/// The network whose runs are fitted.
std::string network_that_ran(const Runs& runs, const std::string& wanted) {
  std::set<std::string> names;
  for (const RunResult& run : runs) names.insert(run.config.model.name);
  if (names.count(wanted) > 0 || names.empty()) return wanted;
  if (names.size() == 1) return *names.begin();
  std::string which = "say by --model which one is meant";
  if (!wanted.empty())
    which = "give the runs of one of them, for " + printable(wanted) + " to be taken from it";
  throw InputError("the runs are of " + words(names) + ": " + which);
}

void require_one_kind(const Runs& runs) {
  std::set<std::string> kinds;
  for (const RunResult& run : runs) {
    kinds.insert(fmt::format("{} in {} at {} pixels with {} classes", run.ranks.front().backend,
                             run.precision, run.config.model.image_size, run.classes));
  }
  require(kinds.size() <= 1, "the runs to fit the compute time to are not of one kind: " +
                                 words(kinds) + "; give those of one");
}

void require_one_machine(const Runs& runs) {
  std::map<std::string, std::set<std::string>> values;
  for (const RunResult& run : runs)
    for (const auto& [name, value] : machine_of(run)) values[name].insert(value);
  for (const auto& [name, seen] : values) {
    require(seen.size() <= 1, "the runs to fit the compute time to differ in " + printable(name) +
                                  ": " + words(seen) + "; give those of one");
  }
}

/// Sets the network that the model is for: the one that is asked for, else the
/// only one that ran. Returns the runs that the compute time is fitted to: of
/// one network, on one kind of device.
Runs choose_runs(CostFit& fit, Runs runs, const Target& target) {
  const std::string ran = network_that_ran(runs, target.model);
  std::erase_if(runs, [&](const RunResult& run) { return run.config.model.name != ran; });
  require_one_kind(runs);
  require_one_machine(runs);
  fit.network = target.model;
  if (fit.network.empty()) fit.network = ran;
  if (fit.network.empty())
    throw InputError(
        "nothing to predict from: name directories of runs, as in rueda predict runs/; or give "
        "--model, --compute, --batch-per-rank, --alpha and --bandwidth");
  fit.image_size = kUsualImageSize;
  if (!runs.empty()) fit.image_size = image_size_of(runs.front());
  if (target.image_size > 0) fit.image_size = target.image_size;
  fit.classes = kClasses;
  if (!runs.empty()) fit.classes = runs.front().classes;
  if (target.classes > 0) fit.classes = target.classes;
  return runs;
}

/// Whether the network that the model is for was run.
bool is_what_ran(const CostFit& fit, const RunResult& ran) {
  return fit.network == ran.config.model.name && fit.image_size == image_size_of(ran) &&
         fit.classes == ran.classes;
}

/// " with 100 classes" where the run had other ones.
std::string classes_text(const CostFit& fit, const RunResult& ran) {
  if (fit.classes == ran.classes) return "";
  return fmt::format(" with {} classes", fit.classes);
}

/// For a network, an image size or a number of classes that was not run: by FLOPs.
void scale_by_flops(CostFit& fit, const RunResult& ran, const Graph& graph) {
  const Graph other = build_model(ran.config.model.name, int(image_size_of(ran)), int(ran.classes));
  const double factor = double(training_flops(graph)) / double(training_flops(other));
  fit.model.compute.per_image *= factor;
  fit.model.compute.update *= double(graph.parameter_count()) / double(other.parameter_count());
  fit.notes.push_back(fmt::format(
      "{} at {} pixels{} was not run: its time of an image is that of {} at {} pixels times "
      "{:.3g}, the ratio of FLOPs. This assumes the same FLOPs a second for both.",
      fit.network, fit.image_size, classes_text(fit, ran), ran.config.model.name,
      image_size_of(ran), factor));
}

ComputeModel given_compute(const Given& given) {
  ComputeModel model;
  model.fixed = given.fixed.value_or(0);
  model.per_image = (*given.step_seconds - model.fixed) / double(given.batch);
  require(model.per_image >= 0, "--fixed is more than --compute, the whole step: give less");
  return model;
}

void set_compute(CostFit& fit, const Runs& runs, const Given& given, const Graph& graph) {
  if (given.step_seconds) {
    fit.model.compute = given_compute(given);
    return;
  }
  if (runs.empty()) {
    throw InputError(
        "the compute time is unknown: give run directories, or --compute with the time of a step "
        "of --batch-per-rank images on one rank");
  }
  const RunResult& ran = runs.front();
  fit.compute = fit_compute(runs);
  fit.model.compute = fit.compute->model;
  if (given.fixed) fit.model.compute.fixed = *given.fixed;
  if (!fit.compute->fit.separable) {
    const char* fixed = given.fixed ? "given" : "0";
    fit.notes.push_back(fmt::format(
        "All runs had {} images in a micro-batch, so the fit cannot separate t0, the time that "
        "does not depend on the batch, from t1: t0 is taken as {}. This makes predictions of other "
        "batches and of the last, partial step of an epoch uncertain.",
        ran.rank_batches.front() / ran.config.batch.accumulate, fixed));
  }
  if (!is_what_ran(fit, ran)) scale_by_flops(fit, ran, graph);
}

/// What is given, else what was fitted. Throws InputError with the text
/// `unknown` where a half is missing.
Link link_of(const std::optional<double>& alpha, const std::optional<double>& bandwidth,
             const std::optional<LinkFit>& fitted, const std::string& unknown) {
  if (!fitted && (!alpha || !bandwidth)) throw InputError(unknown);
  Link link;
  if (fitted) link = fitted->link;
  if (alpha) link.alpha = *alpha;
  if (bandwidth) link.beta = 1 / *bandwidth;
  return link;
}

void set_one_level(CostFit& fit, const Given& given) {
  std::string unknown =
      "the cost of a message is unknown: give runs with --all-reduce ring on 2 ranks or more, a "
      "record of rueda bench all-reduce by --bench, or --alpha and --bandwidth";
  for (const std::string& note : fit.machine.notes) unknown += ". " + note;
  fit.model.machine.between = link_of(given.alpha, given.bandwidth, fit.machine.only(), unknown);
  fit.model.machine.ranks_per_node = 1;
  if (!fit.machine.between && !(given.alpha && given.bandwidth)) {
    fit.notes.emplace_back(
        "Only links within one host were measured: all ranks are predicted with these. For several "
        "nodes give --ranks-per-node, --alpha and --bandwidth.");
  }
}

void set_two_levels(CostFit& fit, const Given& given) {
  fit.model.machine.inside = link_of(
      given.inside_alpha, given.inside_bandwidth, fit.machine.inside,
      "the cost of a message within a node is unknown: give runs or a record of rueda bench on 2 "
      "ranks or more of one host, or --inside-alpha and --inside-bandwidth");
  fit.model.machine.between = link_of(
      given.alpha, given.bandwidth, fit.machine.between,
      "the cost of a message between nodes is unknown: give runs or a record of rueda bench on "
      "several hosts, or --alpha and --bandwidth");
}

/// What is given, else what was fitted, on one level or two. The notes say what was assumed.
void set_machine(CostFit& fit, const Target& target, const Given& given) {
  Machine& machine = fit.model.machine;
  machine = {{}, {}, fit.machine.gamma, target.ranks_per_node, target.links_per_node};
  if (target.ranks_per_node == 0)
    set_one_level(fit, given);
  else
    set_two_levels(fit, given);
  if (!std::isnan(fit.machine.message_noise)) fit.model.message_noise = fit.machine.message_noise;
  if (given.message_noise) fit.model.message_noise = *given.message_noise;
  fit.notes.insert(fit.notes.end(), fit.machine.notes.begin(), fit.machine.notes.end());
  if (machine.gamma == 0) {
    fit.notes.emplace_back(
        "The time of adding was not measured apart from that of messages: gamma is 0, and beta "
        "includes it.");
  }
}

void set_buckets(CostFit& fit, const Runs& runs, const Target& target, const Graph& graph) {
  const bool as_run = !target.bucket_mb && !runs.empty() &&
                      fit.network == runs.front().config.model.name &&
                      fit.classes == runs.front().classes && !runs.front().bucket_bytes.empty();
  if (as_run) {
    fit.model.buckets = bucket_schedule(graph, runs.front().bucket_bytes);
    return;
  }
  const double bytes = target.bucket_mb.value_or(kUsualBucketMb) * kMegabyte;
  fit.model.buckets = bucket_schedule(graph, std::size_t(bytes));
}

void set_noise(CostFit& fit, const Runs& runs) {
  const NoiseFit fitted = fit_noise(runs);
  fit.model.noise = fitted.noise;
  if (const auto images = fit_speed_shares(runs))
    fit.model.by_speed = SpeedShares{*images, fitted.by_speed};
  if (fitted.samples == 0) {
    fit.notes.emplace_back(
        "How much the steps of the ranks vary was not measured: all ranks are predicted to be "
        "equally fast.");
    return;
  }
  std::string basis = count_text(fitted.samples) + " steps of single ranks";
  if (!fitted.from_steps) basis += ", of which only quantiles are known";
  fit.notes.push_back("The prediction of stragglers is based on " + basis +
                      ". It never exceeds the slowest of these steps, so for more ranks than that "
                      "it is too low. Ranks and steps are taken as independent of each other.");
}

}  // namespace

Runs usable_runs(const Runs& runs, Texts& notes) {
  Runs usable;
  for (const RunResult& run : runs) {
    if (observe(run).oversubscribed)
      notes.push_back(run.file.string() +
                      " ran more threads than it had cores, so its times also depend on the "
                      "scheduler: it is shown with its prediction, but not used for the fit.");
    else
      usable.push_back(run);
  }
  return usable;
}

Graph graph_of(const CostFit& fit) {
  return build_model(fit.network, int(fit.image_size), int(fit.classes));
}

CostFit fit_cost(const Runs& all, const Benches& benches, const Target& target, const Given& given,
                 const CostModel* like) {
  CostFit fit;
  const Runs runs = choose_runs(fit, all, target);
  const Graph graph = graph_of(fit);
  std::optional<double> gamma;
  if (given.add_rate) gamma = 1 / *given.add_rate;
  fit.machine = fit_machine(all, benches, gamma);
  set_compute(fit, runs, given, graph);
  set_machine(fit, target, given);
  set_buckets(fit, runs, target, graph);
  if (like == nullptr) {
    set_noise(fit, runs);
  } else {
    fit.model.noise = like->noise;
    fit.model.by_speed = like->by_speed;
  }
  return fit;
}

}  // namespace rueda::predict
