#pragma once

#include <functional>

#include "mpi/session/communicator.hpp"

namespace rueda {

/// Collective: compares the clocks `now` (seconds) of all ranks along a binomial
/// tree with rank 0 at its root: each rank asks its parent, which knows its own
/// offset by then and answers with rank 0's time. So no rank takes part in more
/// than log2 P rounds of four round trips, and errors add up along the tree. A
/// trip gives the offset with an error of half its time; the shortest counts
/// (Cristian, Distributed Computing 3, 1989).
ClockOffset compare_clocks(Communicator& ranks, const std::function<double()>& now);

}  // namespace rueda
