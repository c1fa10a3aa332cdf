#include <algorithm>
#include <array>
#include <bit>

#include "rueda/predict/machine.hpp"

namespace rueda::predict {
namespace {

/// Seconds of one step of a ring whose every rank sends `bytes` to its neighbour.
double ring_step(const Machine& machine, std::size_t ranks, double bytes) {
  const double inside = machine.inside.message_seconds(bytes);
  const double between = machine.between.message_seconds(bytes);
  if (!machine.spans_nodes(ranks)) return inside;
  return machine.ranks_per_node == 1 ? between : std::max(inside, between);
}

/// Seconds of a message between nodes while `senders` ranks of a node send one each.
double shared_message(const Machine& machine, std::size_t senders, double bytes) {
  const double share = double(senders) / double(std::max<std::size_t>(machine.links_per_node, 1));
  return machine.between.alpha + bytes * machine.between.beta * std::max(share, 1.0);
}

/// Of a block, the ranks that sum apart from the rest, as DoublingAllReduce cuts it.
std::size_t left_part(std::size_t count) { return std::bit_floor(count - 1); }

/// How often `have` ranks have to double until `all` have what they have.
std::size_t doublings(std::size_t have, std::size_t all) {
  std::size_t count = 0;
  for (; have < all; have *= 2) ++count;
  return count;
}

double doubling_block(const Machine& machine, std::size_t count, double bytes) {
  if (count <= 1) return 0;
  const std::size_t left = left_part(count);
  const std::size_t right = count - left;
  const bool spans = machine.spans_nodes(count);
  const double message = spans ? shared_message(machine, machine.ranks_per_node, bytes)
                               : machine.inside.message_seconds(bytes);
  const double parts =
      std::max(doubling_block(machine, left, bytes), doubling_block(machine, right, bytes));
  return parts + message + bytes * machine.gamma + double(doublings(right, left)) * message;
}

}  // namespace

const char* to_string(Scheme scheme) {
  constexpr std::array kWords = {"ring", "hierarchical", "doubling", "best"};
  return kWords.at(static_cast<std::size_t>(scheme));
}

double ring_seconds(const Machine& machine, std::size_t ranks, double bytes) {
  if (ranks <= 1) return 0;
  const auto steps = double(ranks - 1);
  const double chunk = bytes / double(ranks);
  return steps * (2 * ring_step(machine, ranks, chunk) + chunk * machine.gamma);
}

double hierarchical_seconds(const Machine& machine, std::size_t ranks, double bytes) {
  const std::size_t local = std::min(machine.ranks_per_node, ranks);
  if (local <= 1 || !machine.spans_nodes(ranks)) return ring_seconds(machine, ranks, bytes);
  const std::size_t nodes = (ranks + local - 1) / local;
  const double shard = bytes / double(local);
  const double chunk = shard / double(nodes);
  const double inside = 2 * machine.inside.message_seconds(shard) + shard * machine.gamma;
  const double between = 2 * shared_message(machine, local, chunk) + chunk * machine.gamma;
  return double(local - 1) * inside + double(nodes - 1) * between;
}

double doubling_seconds(const Machine& machine, std::size_t ranks, double bytes) {
  return doubling_block(machine, ranks, bytes);
}

double all_reduce_seconds(Scheme scheme, const Machine& machine, std::size_t ranks, double bytes) {
  constexpr std::array kSchemes = {ring_seconds, hierarchical_seconds, doubling_seconds};
  if (scheme != Scheme::best)
    return kSchemes.at(static_cast<std::size_t>(scheme))(machine, ranks, bytes);
  double least = ring_seconds(machine, ranks, bytes);
  for (const auto seconds : kSchemes) least = std::min(least, seconds(machine, ranks, bytes));
  return least;
}

}  // namespace rueda::predict
