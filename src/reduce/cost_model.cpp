#include "reduce/cost_model.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "base/split.hpp"
#include "reduce/doubling_plan.hpp"

namespace rueda::cost {
namespace {

/// Seconds of one step of a ring whose every rank sends `bytes` to its neighbour.
double ring_step(const Machine& machine, std::size_t ranks, double bytes) {
  const double inside = machine.inside.message_seconds(bytes);
  const double between = machine.between.message_seconds(bytes);
  if (!machine.spans_nodes(ranks)) return inside;
  if (machine.ranks_per_node == 1) return between;
  return std::max(inside, between);
}

/// A node's way to another while `senders` of its ranks send a message each.
Link shared_link(const Machine& machine, std::size_t senders) {
  return machine.between.shared_by(double(senders) / double(machine.links_per_node));
}

/// Up to so many bytes a message to another partner than before disturbed none (docs/results/
/// all-reduce.md): the rest of the one before, which still waits in the kernel, is short.
constexpr double kUndisturbedBytes = 1 << 20;

/// Seconds of a message within blocks of `block` of all `ranks` ranks, each of which sends one.
/// Blocks begin at multiples of their length. Where a node is not made of whole ones, some lie on
/// two nodes, and all wait for them.
double block_message(const Machine& machine, std::size_t ranks, std::size_t block, double bytes) {
  const bool divides_nodes = machine.ranks_per_node % std::bit_ceil(block) == 0;
  if (!machine.spans_nodes(ranks) || divides_nodes) return machine.inside.message_seconds(bytes);
  const Link link = shared_link(machine, std::min(block, machine.ranks_per_node));
  const double factor = bytes > kUndisturbedBytes ? machine.pair_factor : 1;
  return link.slower_beyond(factor).message_seconds(bytes);
}

/// Of a block of `block` of all `ranks` ranks.
double doubling_in_block(const Machine& machine, std::size_t ranks, const DoublingBlock& block,
                         double bytes) {
  if (block.count <= 1) return 0;
  const double message = block_message(machine, ranks, std::size_t(block.count), bytes);
  const double left = doubling_in_block(machine, ranks, block.left(), bytes);
  const double right = doubling_in_block(machine, ranks, block.right(), bytes);
  const double spreads = block.spreads() * message;
  return std::max(left, right) + message + bytes * machine.gamma + spreads;
}

using SumSeconds = double (*)(const Machine&, std::size_t, double);

/// As HierarchicalAllReduce: by rings inside nodes, between them as `across` says.
double nested_seconds(const Machine& machine, std::size_t ranks, double bytes, SumSeconds across) {
  const std::size_t local = std::min(machine.ranks_per_node, ranks);
  if (!machine.spans_nodes(ranks)) return ring_seconds(machine, ranks, bytes);
  if (local == 1) return across(machine, ranks, bytes);
  const double shard = bytes / double(local);
  const double inside = 2 * machine.inside.message_seconds(shard) + shard * machine.gamma;
  Machine nodes = machine;
  nodes.ranks_per_node = 1;
  nodes.between = shared_link(machine, local);
  return double(local - 1) * inside + across(nodes, pieces(ranks, local), shard);
}

constexpr unsigned kIndexBits = 12;
constexpr std::size_t kValues = 1U << kIndexBits;

/// Of -log(1-u) from 0 to i / kValues: (1-u) log(1-u) + u.
double integral_to(std::size_t i) {
  if (i == kValues) return 1;
  const double u = double(i) / kValues;
  return (1 - u) * std::log(1 - u) + u;
}

/// An exponential distribution of mean 1 in steps of equal probability, each
/// with the mean of its values.
std::array<float, kValues> exponential_values() {
  std::array<float, kValues> values{};
  for (std::size_t i = 0; i < kValues; ++i)
    values[i] = float((integral_to(i + 1) - integral_to(i)) * kValues);
  return values;
}

/// xorshift32 (G. Marsaglia: Xorshift RNGs, *Journal of Statistical Software*
/// 8(14), 2003): a rank has a stream of its own, which costs three shifts a
/// draw.
std::uint32_t next(std::uint32_t& state) {
  state ^= state << 13U;
  state ^= state >> 17U;
  state ^= state << 5U;
  return state;
}

}  // namespace

double Link::bytes_within(double seconds) const noexcept {
  if (asks_from > 0 && seconds < message_seconds(asks_from))
    return std::min(std::max(seconds - short_alpha, 0.0) / short_beta, asks_from);
  const double straight = std::max(seconds - alpha, 0.0) / beta;
  if (straight <= bend) return straight;
  return bend + (seconds - message_seconds(bend)) / beta_beyond;
}

Link Link::shared_by(double share) const noexcept {
  const double times = std::max(share, 1.0);
  Link shared = *this;
  shared.beta *= times;
  shared.bend /= times;
  shared.beta_beyond *= times;
  shared.short_beta *= times;
  return shared;
}

Link Link::slower_beyond(double factor) const noexcept {
  Link slower = *this;
  slower.beta_beyond *= factor;
  return slower;
}

Link Link::later_by(double seconds) const noexcept {
  Link later = *this;
  later.alpha += seconds;
  later.short_alpha += seconds;
  return later;
}

Link Link::with_short(double bytes, const Link& other) const noexcept {
  Link link = *this;
  link.asks_from = bytes;
  link.short_alpha = other.alpha;
  link.short_beta = other.beta;
  return link;
}

Link link_through(const TimedSum& shorter, const TimedSum& longer) {
  const Link bytes_alone{0, longer.seconds / longer.bytes};
  if (!(longer.bytes > shorter.bytes)) return bytes_alone;
  const double beta = (longer.seconds - shorter.seconds) / (longer.bytes - shorter.bytes);
  const double alpha = shorter.seconds - beta * shorter.bytes;
  if (beta < 0) return {longer.seconds, 0};
  if (alpha < 0) return bytes_alone;
  return {alpha, beta};
}

Link link_through(const TimedSum& shorter, const TimedSum& longer, const TimedSum& longest) {
  Link link = link_through(shorter, longer);
  if (longest.bytes > longer.bytes && longest.seconds > longer.seconds) {
    link.bend = longer.bytes;
    link.beta_beyond = (longest.seconds - longer.seconds) / (longest.bytes - longer.bytes);
  }
  return link;
}

double added_bytes(std::size_t ranks, double bytes) noexcept {
  const auto p = double(ranks);
  return (p - 1) / p * bytes;
}

double ring_seconds(const Machine& machine, std::size_t ranks, double bytes) {
  if (ranks <= 1) return 0;
  const double chunk = bytes / double(ranks);
  return double(ranks - 1) * (2 * ring_step(machine, ranks, chunk) + chunk * machine.gamma);
}

double segmented_ring_seconds(const Machine& machine, std::size_t ranks, double bytes,
                              std::size_t segments) {
  if (ranks <= 1 || segments <= 1) return ring_seconds(machine, ranks, bytes);
  const auto steps = double(ranks - 1);
  const double chunk = bytes / double(ranks);
  const double segment = chunk / double(segments);
  const double message = ring_step(machine, ranks, segment);
  const double addition = segment * machine.gamma;
  const double scatter = steps * double(segments) * std::max(message, addition);
  return scatter + std::min(message, addition) + steps * ring_step(machine, ranks, chunk);
}

std::size_t best_segment_bytes(const Machine& machine, std::size_t ranks) {
  constexpr std::size_t kMost = std::size_t{1} << 30U;
  for (std::size_t chunk = sizeof(float); chunk <= kMost; chunk *= 2) {
    const double bytes = double(chunk) * double(ranks);
    if (segmented_ring_seconds(machine, ranks, bytes, 2) < ring_seconds(machine, ranks, bytes))
      return chunk;
  }
  return 0;
}

double hierarchical_seconds(const Machine& machine, std::size_t ranks, double bytes) {
  return nested_seconds(machine, ranks, bytes, ring_seconds);
}

double hierarchical_halving_seconds(const Machine& machine, std::size_t ranks, double bytes) {
  return nested_seconds(machine, ranks, bytes, halving_seconds);
}

double doubling_seconds(const Machine& machine, std::size_t ranks, double bytes) {
  return doubling_in_block(machine, ranks, {0, int(ranks)}, bytes);
}

double halving_seconds(const Machine& machine, std::size_t ranks, double bytes) {
  if (ranks <= 1) return 0;
  const std::size_t workers = std::bit_floor(ranks);
  const bool folds = workers < ranks;
  double seconds = 0;
  if (folds) seconds += 2 * block_message(machine, ranks, 2, bytes) + bytes * machine.gamma;
  for (std::size_t block = 2; block <= workers; block *= 2) {
    const double part = bytes / double(block);
    const std::size_t spanned = folds ? std::min(2 * block, ranks) : block;
    seconds += 2 * block_message(machine, ranks, spanned, part) + part * machine.gamma;
  }
  return seconds;
}

double all_reduce_seconds(Scheme scheme, const Machine& machine, std::size_t ranks, double bytes) {
  constexpr std::array kSchemes = {ring_seconds, hierarchical_seconds, doubling_seconds,
                                   halving_seconds, hierarchical_halving_seconds};
  if (scheme != Scheme::best) return kSchemes.at(std::size_t(scheme))(machine, ranks, bytes);
  double least = std::numeric_limits<double>::infinity();
  for (const auto seconds : kSchemes) least = std::min(least, seconds(machine, ranks, bytes));
  return least;
}

double simulate_ring(const RingSimulation& ring) {
  static const auto values = exponential_values();
  if (ring.ranks <= 1) return 0;
  std::vector<std::uint32_t> streams;
  for (std::size_t rank = 0; rank < ring.ranks; ++rank)
    streams.push_back(std::uint32_t(random_bits(ring.seed, rank)) | 1U);
  std::vector<double> ended(ring.ranks, 0.0);  // when the last step of each rank ended
  const double varies = ring.message_seconds * ring.noise;
  const std::size_t steps = 2 * (ring.ranks - 1);
  for (std::size_t step = 0; step < steps; ++step) {
    const double after = step < steps / 2 ? ring.add_seconds : 0;
    const double sure = ring.message_seconds * (1 - ring.noise) + after;
    double left = ended.back();
    for (std::size_t rank = 0; rank < ring.ranks; ++rank) {
      const float drawn = values[next(streams[rank]) >> (32U - kIndexBits)];
      const double begun = std::max(ended[rank], left);
      left = std::exchange(ended[rank], begun + sure + varies * double(drawn));
    }
  }
  return std::ranges::max(ended);
}

}  // namespace rueda::cost
