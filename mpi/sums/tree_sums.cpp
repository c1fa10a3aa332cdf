#include <algorithm>
#include <bit>

#include "message_sums.hpp"
#include "rueda/reduce/tree_order.hpp"

// The fixed order, in words.
//
// The ring adds chunk c in the order c, c+1, ... round the circle: another
// order for every chunk. Here every rank is the owner of one chunk (the same
// one as in the ring) and receives all other ranks' values of it directly. In
// step s = 1 ... P-1 each rank sends to the rank s positions to the right that
// rank's chunk, and receives its own chunk from the rank s positions to the
// left; so in each step every rank sends once and receives once. Then the owner
// adds all P contributions along the tree. That costs P-1 steps and (P-1)/P of
// the slice per rank each way, as the ring's first half does.
//
// Until an owner has everything, nothing of its chunk is written, and other
// chunks are only read: each value that is sent is the sender's own.

namespace rueda {
namespace {

using Contributions = std::vector<std::span<float>>;  ///< in rank order

/// Elements of a chunk that are worked through at a time.
std::size_t block_of(std::size_t longest, int ranks, std::size_t scratch_elements) {
  const auto peers = std::size_t(ranks - 1);
  return std::clamp<std::size_t>(scratch_elements / peers, 1, longest);
}

/// The part of the chunk owned by `rank` that lies in `block`.
Range owned_part(const RingPlan& plan, int rank, Range block) {
  const Range chunk = plan.chunk(RingPlan{plan.length, rank, plan.size}.owned());
  return {std::min(chunk.end, chunk.begin + block.begin),
          std::min(chunk.end, chunk.begin + block.end)};
}

/// Collects all ranks' values of this rank's own chunk, restricted to `block`
/// (a range within chunks), while sending each other owner its part of `slice`.
Contributions collect(Exchange& ranks, ReduceDevice& device, const RingPlan& plan,
                      std::span<float> slice, Range block, ReduceJournal& journal) {
  const std::size_t peers = std::size_t(plan.size - 1);
  const auto scratch = device.scratch(peers * block.size());
  const auto own = cut(slice, owned_part(plan, plan.rank, block));
  Contributions contributions(peers + 1);
  contributions[std::size_t(plan.rank)] = own;
  for (int s = 1; s < plan.size; ++s) {
    const int to = (plan.rank + s) % plan.size;
    const int from = (plan.rank + plan.size - s) % plan.size;
    const auto outgoing = cut(slice, owned_part(plan, to, block));
    const std::size_t offset = std::size_t(s - 1) * block.size();
    const auto incoming = scratch.subspan(offset, own.size());
    transfer(ranks, journal, "exchange", s - 1, outgoing, to, incoming, from);
    contributions[std::size_t(from)] = incoming;
  }
  return contributions;
}

/// Adds them up in the fixed order; the sum ends up in contribution `own`.
void add_in_order(ReduceDevice& device, const Contributions& contributions, std::size_t own,
                  ReduceJournal& journal) {
  const auto result = contributions[own];
  if (result.empty()) return;
  Contributions slots(TreeOrder::slots_needed(contributions.size()));
  const auto merge = [&](std::size_t into, std::size_t from) {
    // a + b and b + a have the same bits, so the sum may as well grow in the slice itself.
    if (slots[from].data() == result.data()) std::swap(slots[into], slots[from]);
    device.add(slots[into], slots[from]);
  };
  journal.add("exchange", 0, [&] {
    TreeOrder order;
    for (const auto contribution : contributions) {
      slots[order.next_slot()] = contribution;
      order.push(merge);
    }
    order.finish(merge);
    device.wait(device.record_own());  // before scratch is reused and the sum is sent
  });
}

}  // namespace

std::size_t fixed_scratch_floats(std::size_t length, int ranks, std::size_t scratch_elements) {
  if (ranks == 1 || length == 0) return 0;
  const std::size_t longest = RingPlan{length, 0, ranks}.largest_chunk();
  return std::size_t(ranks - 1) * block_of(longest, ranks, scratch_elements);
}

void fixed_reduce_scatter(Exchange& ranks, ReduceDevice& device, const RingPlan& plan,
                          std::span<float> slice, std::size_t scratch_elements,
                          ReduceJournal& journal) {
  if (plan.size == 1 || slice.empty()) return;
  const std::size_t longest = plan.largest_chunk();
  const std::size_t step = block_of(longest, plan.size, scratch_elements);
  for (std::size_t begin = 0; begin < longest; begin += step) {
    const auto contributions =
        collect(ranks, device, plan, slice, {begin, std::min(begin + step, longest)}, journal);
    add_in_order(device, contributions, std::size_t(plan.rank), journal);
  }
}

void FixedOrderAllReduce::add_up(std::span<float> slice, bool) {
  const RingPlan plan = plan_of(slice.size());
  fixed_reduce_scatter(*ranks_, device_, plan, slice, scratch_elements_, journal());
  ring_all_gather(*ranks_, plan, slice, journal());
}

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
  exchange("doubling", step_, slice, peer, incoming, peer);
  add("doubling", step_++, slice, incoming);
}

void DoublingAllReduce::spread(Block block, int have, std::span<float> slice) {
  const int mine = ranks_->rank() - block.first;
  for (; have < block.count; have *= 2) {
    const bool sends = mine < have && mine + have < block.count;
    const bool receives = mine >= have && mine < 2 * have;
    if (!sends && !receives) continue;
    const int peer = block.first + (sends ? mine + have : mine - have);
    exchange("spread", step_++, sends ? slice : std::span<float>{}, peer,
             receives ? slice : std::span<float>{}, peer);
  }
}

std::size_t CentralAllReduce::scratch_floats(std::size_t length) const {
  if (ranks_->size() == 1 || ranks_->rank() != 0) return 0;
  return (TreeOrder::slots_needed(std::size_t(ranks_->size())) - 1) * length;
}

void CentralAllReduce::add_up(std::span<float> slice, bool) {
  if (ranks_->rank() == 0) {
    collect(slice);
    for (int rank = 1; rank < ranks_->size(); ++rank)
      exchange("from rank 0", rank - 1, slice, rank, {}, rank);
  } else {
    exchange("to rank 0", 0, slice, 0, {}, 0);
    exchange("from rank 0", 0, {}, 0, slice, 0);
  }
}

/// Slot 0 of the tree is the slice itself, in which the sum ends up; the others are scratch.
void CentralAllReduce::collect(std::span<float> slice) {
  const std::size_t length = slice.size();
  const auto scratch = device_.scratch(scratch_floats(length));
  const auto slot = [&](std::size_t i) {
    return i == 0 ? slice : scratch.subspan((i - 1) * length, length);
  };
  TreeOrder order;
  for (int rank = 0; rank < ranks_->size(); ++rank) {
    if (rank > 0) exchange("to rank 0", rank - 1, {}, rank, slot(order.next_slot()), rank);
    const auto merge = [&](std::size_t into, std::size_t from) {
      device_.add(slot(into), slot(from));
    };
    journal().add("to rank 0", rank, [&] {
      order.push(merge);
      if (rank + 1 == ranks_->size()) order.finish(merge);
      device_.wait(device_.record_own());  // before scratch is received into again
    });
  }
}

}  // namespace rueda
