#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/text.hpp"

namespace rueda::cost {

/// What a message costs on a link: alpha + bytes * beta (R. Hockney: The
/// communication challenge for MPP, *Parallel Computing* 20(3), 389-398, 1994).
struct Link {
  double alpha = 0;  ///< seconds for each message
  double beta = 0;   ///< seconds for each byte, 1 / bandwidth
  /// A measured link has another slope for long messages, whose sender first asks the receiver and
  /// then fills the link: bytes up to which `beta` holds, and seconds for each byte beyond.
  double bend = std::numeric_limits<double>::infinity();
  double beta_beyond = 0;
  /// Where the senders of short messages do not ask the receiver first, those of fewer bytes than
  /// `asks_from` have a line of their own.
  double asks_from = 0;
  double short_alpha = 0;
  double short_beta = 0;

  double message_seconds(double bytes) const noexcept {
    if (bytes < asks_from) return short_alpha + bytes * short_beta;
    const double beyond = std::max(bytes - bend, 0.0);
    return alpha + (bytes - beyond) * beta + beyond * beta_beyond;
  }
  /// The bytes of a message that takes so long; 0 where none is so short.
  double bytes_within(double seconds) const noexcept;
  /// While `share` messages go over it at the same time; fewer than one take as long as one.
  Link shared_by(double share) const noexcept;
  /// Whose bytes beyond the bend take so many times as long.
  Link slower_beyond(double factor) const noexcept;
  /// Every message of which takes so much longer.
  Link later_by(double seconds) const noexcept;
  /// Whose messages of fewer than `bytes` bytes cost what they cost on `other`.
  Link with_short(double bytes, const Link& other) const noexcept;
};

/// What a sum of so many bytes took; seconds.
struct TimedSum {
  double bytes = 0;
  double seconds = 0;
};
/// The link of which sums of two lengths, the shorter one first, show what one
/// of n bytes costs: the line through both. Where a cost of it would be
/// negative, or both are as long, the other cost alone has the time of the
/// longer sum.
Link link_through(const TimedSum& shorter, const TimedSum& longer);
/// The same, bent at `longer`, so that it also passes through `longest`. Where that one took no
/// longer than `longer`, it says nothing, and the line stays straight.
Link link_through(const TimedSum& shorter, const TimedSum& longer, const TimedSum& longest);

/// A machine of nodes with `ranks_per_node` ranks each, the last node with as
/// many as are left. Ranks are dealt node by node. One level: all ranks on one
/// node, or one rank on each.
struct Machine {
  Link inside;       ///< between ranks of a node
  Link between;      ///< between nodes
  double gamma = 0;  ///< seconds for each byte that a rank adds
  std::size_t ranks_per_node = 1;
  /// How many messages of a node's ranks go out at full speed at the same time; more share.
  std::size_t links_per_node = 1;
  /// By how much longer bytes beyond the bend take, of messages above 1 MiB, where nodes send each
  /// other messages, each time to another partner, than in a ring, which sends to the same one.
  double pair_factor = 1;

  bool spans_nodes(std::size_t ranks) const noexcept { return ranks > ranks_per_node; }
};

/// Which all-reduce is predicted, as rueda does it (docs/ring.md); `best` takes
/// for each slice the one that the model says is the quickest.
enum class Scheme { ring, hierarchical, doubling, halving, hierarchical_halving, best };
constexpr auto words_of(Scheme) {
  return std::array{"ring", "hierarchical", "doubling", "halving", "hierarchical-halving", "best"};
}

/// Seconds of a sum of `bytes` over all ranks, from the moment at which all
/// have begun to the one at which all are done. 0 on one rank. Sources: P.
/// Patarasuk, X. Yuan, *JPDC* 69(2), 2009, for the ring; R. Thakur, R.
/// Rabenseifner, W. Gropp, *IJHPCA* 19(1), 2005, for the model, doubling and
/// halving.

/// 2(P-1) messages of 1/P; the first half is added. All ranks of a ring move in step, so each step
/// takes as long as its slowest link. Only one rank of a node sends to another node.
double ring_seconds(const Machine& machine, std::size_t ranks, double bytes);

/// The same for a device that adds one segment of a chunk while the next one
/// travels, in `segments` of equal length: as many messages in each step of the
/// reduce-scatter, whose additions hide behind messages or messages behind
/// additions, whichever takes longer; one of the other is left over.
double segmented_ring_seconds(const Machine& machine, std::size_t ranks, double bytes,
                              std::size_t segments);

/// Bytes of the segments in which such a ring sends a chunk, whatever its
/// length: the least power of two at which a chunk takes longer as a whole than
/// in two halves. 0: none up to 1 GiB, chunks are not cut.
std::size_t best_segment_bytes(const Machine& machine, std::size_t ranks);

/// As HierarchicalAllReduce: reduce-scatter inside each node, rings between
/// ranks of equal place on all nodes, all at the same time, all-gather inside.
/// Nodes are taken to have the same number of ranks. On one level it is the
/// ring.
double hierarchical_seconds(const Machine& machine, std::size_t ranks, double bytes);

/// As doubling_plan, for any number of ranks: the longest chain of
/// messages, each of all bytes. Blocks of ranks that are larger than a node, or
/// of which nodes do not have whole ones, talk between nodes, with all their ranks
/// of a node at once.
double doubling_seconds(const Machine& machine, std::size_t ranks, double bytes);

/// As halving_plan: of the first ranks, each pair of which has one that works for
/// both. Partners of a round are in a block of ranks, twice as large each time, as
/// of doubling.
double halving_seconds(const Machine& machine, std::size_t ranks, double bytes);

/// As hierarchical_seconds, with halving between nodes.
double hierarchical_halving_seconds(const Machine& machine, std::size_t ranks, double bytes);

/// Bytes that a rank of a ring adds.
double added_bytes(std::size_t ranks, double bytes) noexcept;

double all_reduce_seconds(Scheme scheme, const Machine& machine, std::size_t ranks, double bytes);

/// A ring all-reduce whose messages do not all take the same time.
struct RingSimulation {
  std::size_t ranks = 1;
  double message_seconds = 0;  ///< mean of a message of one chunk
  double add_seconds = 0;      ///< of adding one
  /// How much messages vary: each takes message_seconds * (1 + noise * (e -
  /// 1)), e drawn from an exponential distribution of mean 1, anew for each
  /// message. From 0 to 1: their standard deviation relative to their mean.
  double noise = 0;
  std::uint64_t seed = 1;
};

/// Seconds until the last rank has all sums. Follows every rank through the
/// 2(P-1) steps: a step begins when the rank and its left neighbour have
/// finished the one before. Deterministic.
///
/// Without noise it is ring_seconds(). With it, a rank that waits delays its
/// right neighbour: the time is that of the slowest chain of messages through
/// the ring. For large P it tends to (1 + noise) times the messages' share,
/// because the largest sum of n exponential values along such chains tends to
/// 2n (H. Rost: Non-equilibrium behaviour of a many particle process, *Z.
/// Wahrscheinlichkeitstheorie* 58, 41-53, 1981).
double simulate_ring(const RingSimulation& ring);

}  // namespace rueda::cost
