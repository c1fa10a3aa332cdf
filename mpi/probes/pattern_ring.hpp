#pragma once

#include <cstddef>

#include "mpi/session/communicator.hpp"
#include "rueda/reduce/exchange_buffer.hpp"

namespace rueda {

/// What came from the left neighbour.
struct PatternResult {
  std::size_t floats = 0;
  std::size_t wrong = 0;        ///< elements that are not what the neighbour sent
  std::size_t first_wrong = 0;  ///< the first of them, if there is one
};

/// Collective: every rank sends `floats` floats of a pattern of its own to its right neighbour by
/// MPI_Sendrecv, straight from `buffer`'s memory, and checks each that it received. Twice, with
/// different patterns, since memory that was registered or cached wrongly holds the first; the
/// second is reported, or the first if that is already wrong. `buffer` holds at least as many.
PatternResult pattern_ring(Communicator& ring, ExchangeBuffer& buffer, std::size_t floats);

}  // namespace rueda
