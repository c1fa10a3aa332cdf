#pragma once

#include "schedule.hpp"

namespace rueda::bench {

/// What an all-reduce that sends whole slices (doubling, central) really sends: it is run, on ranks
/// that are threads of this process and exchange numbers which tell whose values are summed in
/// them. A message is in the first step in which both its sender and its receiver have done all
/// before it. Throws InputError for other algorithms, and where this build has no memory of a host
/// to sum in.
Schedule observed_schedule(Algorithm algorithm, int ranks, std::size_t length);

}  // namespace rueda::bench
