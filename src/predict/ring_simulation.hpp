#pragma once

#include <cstddef>
#include <cstdint>

namespace rueda::predict {

/// A ring all-reduce whose messages do not all take the same time.
struct RingSimulation {
  std::size_t ranks = 1;
  double message_seconds = 0;  ///< mean of a message of one chunk
  double add_seconds = 0;      ///< of adding one
  /// How much messages vary: each takes message_seconds * (1 + noise * (e - 1)), e drawn from an
  /// exponential distribution of mean 1, anew for each message. From 0 to 1: their standard
  /// deviation beside their mean.
  double noise = 0;
  std::uint64_t seed = 1;
};

/// Seconds until the last rank has all sums. Follows every rank through the 2(P-1) steps: a step
/// begins when the rank and its left neighbour have finished the one before. Deterministic.
///
/// Without noise it is ring_seconds(). With it, whoever waits hands the delay on: the time is that
/// of the slowest chain of messages through the ring. For large P it tends to (1 + noise) times the
/// messages' share, because the largest sum of n exponential values along such chains tends to 2n
/// (H. Rost: Non-equilibrium behaviour of a many particle process, *Z. Wahrscheinlichkeitstheorie*
/// 58, 41-53, 1981).
double simulate_ring(const RingSimulation& ring);

}  // namespace rueda::predict
