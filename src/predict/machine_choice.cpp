#include "machine_choice.hpp"

#include <cmath>

#include "rueda/core/error.hpp"

namespace rueda::predict {
namespace {

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

}  // namespace

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

}  // namespace rueda::predict
