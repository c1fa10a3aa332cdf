#include "mpi/sums/doubling_all_reduce.hpp"

#include <bit>

// Recursive doubling, in words.
//
// A block of ranks is cut into a left part, as many ranks as the largest power
// of two below its size, and a right part, the rest. Each part sums among
// itself, in the same way, at the same time. Then rank j of the left part and
// rank j of the right one send each other the sum of their part, and both add
// the two: left + right on one side, right + left on the other, which round
// alike. So both hold the same bits, and with them, by induction, all who
// exchanged. With a power of two of ranks each has a partner in every round:
// log2 P messages.
//
// Otherwise the right part is the shorter one, and the left ranks beyond it
// have no partner. The sum is spread to them, by those who have it to as many
// who have not, twice as many each time; it is copied, so that their bits are
// the same, too.
//
// The parts are those of TreeOrder: blocks of powers of two, and what is left
// at the end merged from the right. Hence the bits of the fixed order.

namespace rueda {

void DoublingAllReduce::add_up(std::span<float> slice, bool) {
  step_ = 0;
  sum_block({0, ranks_->size()}, slice, device_.scratch(slice.size()).first(slice.size()));
}

void DoublingAllReduce::sum_block(Block block, std::span<float> slice, std::span<float> incoming) {
  if (block.count == 1) return;
  const Block left{block.first, int(std::bit_floor(unsigned(block.count - 1)))};
  const Block right{block.first + left.count, block.count - left.count};
  const int mine = ranks_->rank() - block.first;
  if (mine < left.count) {
    sum_block(left, slice, incoming);
    if (mine < right.count) sum_with(right.first + mine, slice, incoming);
    spread(left, right.count, slice);
  } else {
    sum_block(right, slice, incoming);
    sum_with(left.first + mine - left.count, slice, incoming);
  }
}

void DoublingAllReduce::sum_with(int peer, std::span<float> slice, std::span<float> incoming) {
  const SumStep step{"doubling", step_++};
  exchange(step, {slice, peer}, {incoming, peer});
  add(step, slice, incoming);
}

void DoublingAllReduce::spread(Block block, int have, std::span<float> slice) {
  const int mine = ranks_->rank() - block.first;
  for (; have < block.count; have *= 2) {
    const bool sends = mine < have && mine + have < block.count;
    const bool receives = mine >= have && mine < 2 * have;
    if (!sends && !receives) continue;
    const int peer = block.first + (sends ? mine + have : mine - have);
    exchange({"spread", step_++}, {sends ? slice : std::span<float>{}, peer},
             {receives ? slice : std::span<float>{}, peer});
  }
}

}  // namespace rueda
