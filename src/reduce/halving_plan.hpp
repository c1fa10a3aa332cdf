#pragma once

#include <bit>

#include "reduce/pair_plan.hpp"

namespace rueda {

// Which ranks exchange what in which order in recursive halving and doubling (R.
// Rabenseifner: Optimization of collective reduction operations, *ICCS* 2004; R.
// Thakur, R. Rabenseifner, W. Gropp, *IJHPCA* 19(1), 2005): its arithmetic,
// without messages.
//
// With a power of two of ranks the slice is cut into P chunks. Reduce-scatter: in
// round 0 ranks 2i and 2i+1 each send the other one half of the slice, and add
// the half that they keep. In the next round partners are two ranks apart and
// halve what they kept, then four ranks, and so on. After log2 P rounds each rank
// has the sum of one chunk. All-gather: the same partners in the opposite order
// send each other all that they have, twice as much each time. The longest
// messages go between neighbours, which often share a host.
//
// Other numbers of ranks are folded first, to the largest power of two below: of
// the P - 2^k first pairs of ranks the odd one sends its slice to the even one,
// which adds it and works for both, and gets the sums at the end.

/// Whether every element is added in the order of TreeOrder: P is a power of two,
/// or a difference of two of them, as 3, 6, 7 and 12.
constexpr bool halving_keeps_tree_order(int ranks) noexcept {
  return std::has_single_bit(2 * std::bit_floor(unsigned(ranks)) - unsigned(ranks));
}

/// What `rank` does to get the sum over `ranks` ranks.
PairPlan halving_plan(int rank, int ranks);

}  // namespace rueda
