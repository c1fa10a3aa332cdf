#include "cost_parts.hpp"

#include <cmath>
#include <set>

#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"

namespace rueda::predict {
namespace {

constexpr std::size_t kUsualImageSize = 32;

std::string words(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text;
}

/// The network whose runs are fitted.
std::string network_that_ran(const std::vector<RunResult>& runs, const std::string& wanted) {
  std::set<std::string> names;
  for (const RunResult& run : runs) names.insert(run.model);
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
        "the cost of a message is unknown: give runs on 2 ranks or more, a record of rueda bench "
        "all-reduce by --bench, or --alpha and --bandwidth");
  }
  fit.model.machine.between = *link;
  fit.model.machine.ranks_per_node = 1;
  if (!fit.machine.between && !(given.alpha && given.bandwidth)) {
    fit.notes.emplace_back(
        "Only links within one host were measured: all ranks are predicted with these. For several "
        "nodes give --ranks-per-node, --alpha and --bandwidth.");
  }
}

void set_two_levels(CostFit& fit, const Target& target, const Given& given) {
  const auto inside = link_of(given.inside_alpha, given.inside_bandwidth, fit.machine.inside);
  const auto between = link_of(given.alpha, given.bandwidth, fit.machine.between);
  if (!inside) {
    throw InputError(
        "the cost of a message within a node is unknown: give runs or a record of rueda bench on 2 "
        "ranks or more of one host, or --inside-alpha and --inside-bandwidth");
  }
  if (!between) {
    throw InputError(
        "the cost of a message between nodes is unknown: give runs or a record of rueda bench on "
        "several hosts, or --alpha and --bandwidth");
  }
  fit.model.machine.inside = *inside;
  fit.model.machine.between = *between;
  fit.model.machine.ranks_per_node = target.ranks_per_node;
}

}  // namespace

Chosen choose_runs(const std::vector<RunResult>& runs, const Target& target) {
  Chosen chosen;
  chosen.ran = network_that_ran(runs, target.model);
  for (const RunResult& run : runs) {
    if (run.model == chosen.ran) chosen.runs.push_back(run);
  }
  require_one_kind(chosen.runs);
  chosen.network = target.model.empty() ? chosen.ran : target.model;
  if (chosen.network.empty()) throw InputError("the network is unknown: give runs or --model");
  chosen.image_size = target.image_size;
  if (chosen.image_size == 0) {
    chosen.image_size = chosen.runs.empty() ? kUsualImageSize : chosen.runs.front().image_size;
  }
  return chosen;
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
        "The time of adding was not measured apart from that of messages: gamma is 0, and beta "
        "includes it.");
  }
}

}  // namespace rueda::predict
