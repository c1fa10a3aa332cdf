#include "doubling_all_reduce.hpp"

#include <bit>

// Recursive doubling, in words.
//
// A block of ranks is cut into a left part, as many ranks as the largest power of two below its
// size, and a right part, the rest. Each part sums among itself, in the same way, at the same time.
// Then rank j of the left part and rank j of the right one send each other the sum of their part,
// and both add the two: left + right on one side, right + left on the other, which round alike. So
// both hold the same bits, and with them, by induction, all who exchanged. With a power of two of
// ranks everybody has a partner in every round: log2 P messages.
//
// Otherwise the right part is the shorter one, and the left ranks beyond it have no partner. The
// sum is spread to them, by those who have it to as many who have not, twice as many each time; it
// is copied, so that their bits are the same, too.
//
// The parts are those of TreeOrder: blocks of powers of two, and what is left at the end merged
// from the right. Hence the bits of the fixed order.

namespace rueda {
namespace {

int left_part(int count) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1)));
}

}  // namespace

int doubling_messages(int ranks) noexcept {
  if (ranks <= 1) return 0;
  const int left = left_part(ranks);
  int messages = doubling_messages(left) + 1;
  for (int have = ranks - left; have < left; have *= 2) ++messages;
  return messages;
}

std::size_t DoublingAllReduce::scratch_floats(std::size_t length) const {
  return ranks_->size() > 1 ? length : 0;
}

Event DoublingAllReduce::sum(std::span<float> slice, Event ready) {
  if (ranks_->size() == 1 || slice.empty()) return ready;
  device_.wait(ready);
  step_ = 0;
  sum_block({0, ranks_->size()}, slice, device_.scratch(slice.size()).first(slice.size()));
  return {};
}

void DoublingAllReduce::sum_block(Block block, std::span<float> slice, std::span<float> incoming) {
  if (block.count == 1) return;
  const Block left{block.first, left_part(block.count)};
  const Block right{block.first + left.count, block.count - left.count};
  const int place = ranks_->rank() - block.first;
  if (place < left.count) {
    sum_block(left, slice, incoming);
    if (place < right.count) exchange(right.first + place, slice, incoming);
    spread(left, right.count, slice);
  } else {
    sum_block(right, slice, incoming);
    exchange(left.first + place - left.count, slice, incoming);
  }
}

void DoublingAllReduce::exchange(int peer, std::span<float> slice, std::span<float> incoming) {
  const int other = ranks_->world_rank(peer);
  journal().transfer("doubling", step_, other, other,
                     [&] { ranks_->sendrecv(slice, peer, incoming, peer); });
  journal().add("doubling", step_++, [&] {
    device_.add(slice, incoming);
    device_.wait(device_.record_own());  // before the sum is sent and scratch received into again
  });
}

void DoublingAllReduce::spread(Block block, int have, std::span<float> slice) {
  const int place = ranks_->rank() - block.first;
  for (; have < block.count; have *= 2) {
    const bool sends = place < have && place + have < block.count;
    const bool receives = place >= have && place < 2 * have;
    if (!sends && !receives) continue;
    const int peer = sends ? place + have : place - have;
    const int other = ranks_->world_rank(block.first + peer);
    const auto outgoing = sends ? slice : std::span<float>{};
    const auto incoming = receives ? slice : std::span<float>{};
    journal().transfer("spread", step_++, sends ? other : -1, receives ? other : -1, [&] {
      ranks_->sendrecv(outgoing, block.first + peer, incoming, block.first + peer);
    });
  }
}

}  // namespace rueda
