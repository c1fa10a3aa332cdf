#include "run/wiring/reduce_rule.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "display/text.hpp"
#include "reduce/halving_plan.hpp"

namespace rueda {
namespace {

constexpr std::size_t kLongestChosen = std::size_t{1} << 30;  // bytes; beyond nothing changes
constexpr double kShownFactor = 1.05;
constexpr double kLeastGain = 0.02;  // for which another row is worth it
/// Lengths of a factor of two that are looked at, as 8, 9 ... 15 KiB.
constexpr std::size_t kLengthsOfOctave = 8;

/// The model has the same words.
cost::Scheme scheme_of(Algorithm algorithm) {
  constexpr auto words = words_of(cost::Scheme{});
  const auto* found = std::ranges::find(words, std::string_view(to_string(algorithm)));
  return cost::Scheme(found - words.begin());
}

bool has_chunks(Algorithm algorithm) {
  return algorithm == Algorithm::ring || is_hierarchical(algorithm);
}

/// Whether it is itself in the fixed order.
bool keeps_order(const ReduceSituation& situation, Algorithm algorithm) {
  if (algorithm == Algorithm::halving) return halving_keeps_tree_order(situation.ranks);
  if (algorithm == Algorithm::hierarchical) return situation.keeps_tree;
  if (algorithm == Algorithm::hierarchical_halving)
    return situation.keeps_tree && halving_keeps_tree_order(situation.hosts);
  return true;
}

std::string link_text(const cost::Link& link) {
  const double beta = std::isinf(link.bend) ? link.beta : link.beta_beyond;
  return fmt::format("{} us and {} GB/s", rate_text(link.message_seconds(0) * 1e6),
                     rate_text(1e-9 / beta));
}

std::string costs_text(const ReduceSituation& situation, const cost::Machine& machine) {
  std::string text = fmt::format("by measured costs for {} ranks: ", situation.ranks);
  if (situation.hosts > 1) text += link_text(machine.between) + " between hosts, ";
  if (machine.pair_factor > kShownFactor)
    text += rate_text(machine.pair_factor) + " times as long in pairs, ";
  if (situation.most_on_a_host > 1) text += link_text(machine.inside) + " inside, ";
  return text + fmt::format("additions at {} GB/s", rate_text(1e-9 / machine.gamma));
}

std::string place_text(const ReduceSituation& situation) {
  if (situation.may_share) return "one host with shared memory";
  return "these ranks, which leaves no choice";
}

ReduceWay way_of(const ReduceSituation& situation, Algorithm algorithm) {
  if (!has_chunks(algorithm)) return {algorithm, 0};
  return {algorithm, usual_segment_bytes(situation)};
}

/// Of the ends of a table's rows.
std::vector<std::size_t> lengths() {
  std::vector<std::size_t> all;
  for (std::size_t octave = sizeof(float); octave <= kLongestChosen; octave *= 2)
    for (std::size_t i = 0; i < kLengthsOfOctave; ++i)
      all.push_back(octave + octave * i / kLengthsOfOctave);
  return all;
}

void append_row(ReduceTable& table, const ReduceWay& way, std::size_t most_bytes) {
  if (table.rows.empty() || table.rows.back().way != way) table.rows.push_back({0, way});
  table.rows.back().most_bytes = most_bytes;
}

}  // namespace

std::size_t usual_segment_bytes(const ReduceSituation& situation) {
  const bool between_hosts = situation.hosts > 1;
  if (situation.memory_is_on_host) return between_hosts ? 0 : kHostSegmentBytes;
  if (between_hosts) return kDeviceSegmentBytes;
  return cost::best_segment_bytes(kDevicesOfHost, std::size_t(situation.most_on_a_host));
}

std::vector<Algorithm> auto_candidates(const ReduceSituation& situation) {
  const bool rounds = situation.wire == Wire::bf16;
  if (situation.may_share && situation.memory_is_on_host && !rounds) return {Algorithm::shared};
  const bool nested = situation.hosts > 1 && situation.most_on_a_host > 1;
  std::vector<Algorithm> all;
  if (!nested || situation.in_blocks)
    all = {Algorithm::ring, Algorithm::doubling, Algorithm::halving};
  if (nested) {
    all.push_back(Algorithm::hierarchical);
    all.push_back(Algorithm::hierarchical_halving);
  }
  if (rounds) std::erase_if(all, [](Algorithm one) { return !may_narrow(one); });
  if (situation.fixed_order)
    std::erase_if(all, [&](Algorithm one) { return !keeps_order(situation, one); });
  if (all.empty()) all = {Algorithm::ring};
  return all;
}

ReduceTable reduce_rule(const ReduceSituation& situation, const cost::Machine& machine) {
  const std::vector<Algorithm> all = auto_candidates(situation);
  ReduceTable table;
  if (all.size() == 1) {
    append_row(table, way_of(situation, all.front()), SIZE_MAX);
    table.why = "by the rule for " + place_text(situation);
    return table;
  }
  Algorithm chosen = all.front();
  for (const std::size_t bytes : lengths()) {
    const auto seconds = [&](Algorithm algorithm) {
      return all_reduce_seconds(scheme_of(algorithm), machine, std::size_t(situation.ranks),
                                double(bytes));
    };
    const Algorithm best = *std::ranges::min_element(all, {}, seconds);
    if (seconds(best) < (1 - kLeastGain) * seconds(chosen)) chosen = best;
    append_row(table, way_of(situation, chosen), bytes);
  }
  table.rows.back().most_bytes = SIZE_MAX;
  table.why = costs_text(situation, machine);
  return table;
}

}  // namespace rueda
