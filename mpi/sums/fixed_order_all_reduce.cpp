#include "mpi/sums/fixed_order_all_reduce.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/split.hpp"
#include "mpi/sums/ring_all_reduce.hpp"
#include "reduce/tree_order.hpp"

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
Contributions collect(const SumPlace& place, const RingPlan& plan, std::span<float> slice,
                      Range block) {
  const std::size_t peers = std::size_t(plan.size - 1);
  const auto scratch = place.device.scratch(peers * block.size());
  const auto own = cut(slice, owned_part(plan, plan.rank, block));
  Contributions contributions(peers + 1);
  contributions[std::size_t(plan.rank)] = own;
  for (int s = 1; s < plan.size; ++s) {
    const int to = (plan.rank + s) % plan.size;
    const int from = (plan.rank + plan.size - s) % plan.size;
    const auto outgoing = cut(slice, owned_part(plan, to, block));
    const std::size_t offset = std::size_t(s - 1) * block.size();
    const auto incoming = scratch.subspan(offset, own.size());
    place.exchange({"exchange", s - 1}, {outgoing, to}, {incoming, from});
    contributions[std::size_t(from)] = incoming;
  }
  return contributions;
}

/// Adds them up in the fixed order; the sum ends up in contribution `own`.
void add_in_order(const SumPlace& place, const Contributions& contributions, std::size_t own) {
  const auto result = contributions[own];
  if (result.empty()) return;
  Contributions slots(TreeOrder::slots_needed(contributions.size()));
  const auto merge = [&](std::size_t into, std::size_t from) {
    // a + b and b + a have the same bits, so the sum may as well grow in the slice itself.
    if (slots[from].data() == result.data()) std::swap(slots[into], slots[from]);
    place.device.add(slots[into], slots[from]);
  };
  const auto entry = place.journal.add("exchange", 0);
  TreeOrder order;
  for (const auto contribution : contributions) {
    slots[order.next_slot()] = contribution;
    order.push(merge);
  }
  order.finish(merge);
  // Before scratch is reused and the sum is sent.
  place.device.wait(place.device.record_own());
}

}  // namespace

std::size_t fixed_scratch_floats(std::size_t length, int ranks, std::size_t scratch_elements) {
  if (ranks == 1 || length == 0) return 0;
  const std::size_t longest = RingPlan{length, 0, ranks}.largest_chunk();
  return std::size_t(ranks - 1) * block_of(longest, ranks, scratch_elements);
}

void fixed_reduce_scatter(const SumPlace& place, std::span<float> slice,
                          std::size_t scratch_elements) {
  const RingPlan plan = place.ring(slice.size());
  if (plan.size == 1 || slice.empty()) return;
  const std::size_t longest = plan.largest_chunk();
  const std::size_t step = block_of(longest, plan.size, scratch_elements);
  for (std::size_t begin = 0; begin < longest; begin += step) {
    const auto contributions =
        collect(place, plan, slice, {begin, std::min(begin + step, longest)});
    add_in_order(place, contributions, std::size_t(plan.rank));
  }
}

void FixedOrderAllReduce::add_up(const SumPlace& place, std::span<float> slice, bool) {
  fixed_reduce_scatter(place, slice, scratch_elements_);
  ring_all_gather(place, slice);
}

}  // namespace rueda
