#pragma once

#include <cstddef>
#include <span>

#include "mpi/exchange/exchange.hpp"
#include "rueda/reduce/reduce_journal.hpp"
#include "rueda/reduce/ring_plan.hpp"

namespace rueda {

/// First half of the all-reduce in the fixed order: afterwards this rank's slice holds, in chunk
/// plan.owned(), the sum over ranks in the order of TreeOrder, and elsewhere its own values. The
/// caller has waited for the slice to be ready. Chunks are worked through in blocks so that scratch
/// memory stays near `scratch_elements` floats; this changes no bit.
void fixed_reduce_scatter(Exchange& ranks, ReduceDevice& device, const RingPlan& plan,
                          std::span<float> slice, std::size_t scratch_elements,
                          ReduceJournal& journal);

/// Floats of scratch memory that this takes for a slice of `length` over `ranks` ranks.
std::size_t fixed_scratch_floats(std::size_t length, int ranks, std::size_t scratch_elements);

}  // namespace rueda
