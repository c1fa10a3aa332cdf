#pragma once

#include <cstddef>

#include "reduce/exchange_buffer.hpp"

namespace rueda {

class Communicator;

/// The link from a rank to its right neighbour.
struct LinkSpeed {
  double latency_us = 0;     ///< microseconds from one rank to the other, a message of 4 bytes
  double gb_per_second = 0;  ///< 1e9 bytes a second one way, messages of kPingPongBytes
};

inline constexpr std::size_t kPingPongBytes = std::size_t{8} << 20;

/// Collective: sends messages to the right neighbour and back, straight from
/// `buffer`'s memory (kPingPongBytes at least), and takes half the median time
/// of the round trip. Neighbours at a distance measure at the same time, as
/// they talk at the same time in the ring. All zero on one rank.
LinkSpeed ping_pong(Communicator& ring, ExchangeBuffer& buffer);

/// Collective over the ranks of one host: what its memory lets messages reach. A
/// flag that all can see goes round, and each rank copies kPingPongBytes at the
/// same time. All zero on one rank, and where MPI offers no shared memory.
LinkSpeed memory_speed(const Communicator& host, ExchangeBuffer& buffer);

/// Collective: 1e9 bytes a second that reach the other side by two plain copies, one after the
/// other, `buffer`'s memory to this process's and back, all ranks at the same time: what MPI
/// reaches without a way from GPU to GPU. The median; messages of kPingPongBytes.
double two_copies_speed(Communicator& ring, ExchangeBuffer& buffer);

/// What came from the left neighbour.
struct PatternResult {
  std::size_t floats = 0;
  std::size_t wrong = 0;        ///< elements that are not what the neighbour sent
  std::size_t first_wrong = 0;  ///< the first of them, if there is one
};

/// Collective: every rank sends `floats` floats of a pattern of its own to its
/// right neighbour by MPI_Sendrecv, straight from `buffer`'s memory, and checks
/// each that it received. Twice, with different patterns, since memory that was
/// registered or cached wrongly holds the first; the second is reported, or the
/// first if that is already wrong. `buffer` holds at least as many.
PatternResult pattern_ring(Communicator& ring, ExchangeBuffer& buffer, std::size_t floats);

}  // namespace rueda
