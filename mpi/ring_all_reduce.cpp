#include "ring_all_reduce.hpp"

// The ring, in words.
//
// The P ranks sit in a circle. Each talks only to its neighbours: it sends to the right and
// receives from the left, both at once, so in every step all links are busy in one direction.
// The slice is cut into P chunks of (almost) equal length.
//
// Reduce-scatter: every chunk goes once round the circle and collects contributions. Chunk c
// starts at rank c as that rank's own values; each rank that receives it adds its own and sends
// the sum on in the next step. After P-1 steps chunk c has seen all ranks and rests, complete, at
// rank c-1. In each step P chunks travel at the same time, one on every link.
//
// All-gather: the complete chunks go round once more, and each rank keeps a copy of what passes.
// P-1 further steps and every rank holds all chunks.
//
// Each rank sends 2(P-1) chunks of n/P elements. No algorithm can do with less than 2(P-1)/P * n.
//
// Order of work. MPI knows nothing of a device's queue. A received chunk lies in scratch memory and
// is added by the device; only when that addition has passed may the sum be sent on, and may the
// next chunk be received into the same scratch. One wait at the end of each step covers both. The
// all-gather receives in place: the chunk that arrives is one this rank has already sent for the
// last time. Whatever the device computes meanwhile is not waited for.
//
// How a chunk moves is the Exchange's: by one MPI_Sendrecv on the device's own memory, or, where
// MPI cannot read that, in pieces through host memory. The steps are the same.

namespace rueda {
namespace {

template <class T>
std::span<T> cut(std::span<T> slice, Range chunk) {
  return slice.subspan(chunk.begin, chunk.size());
}

}  // namespace

void ring_reduce_scatter(Exchange& ring, ReduceDevice& device, const RingPlan& plan,
                         std::span<float> slice, ReduceJournal& journal) {
  const auto scratch = device.scratch(plan.largest_chunk());
  for (int step = 0; step < plan.steps(); ++step) {
    const auto outgoing = cut(slice, plan.chunk(plan.reduce_send(step)));
    const auto sum = cut(slice, plan.chunk(plan.reduce_receive(step)));
    const auto incoming = scratch.first(sum.size());
    journal.transfer("reduce-scatter", step, ring.world_rank(plan.right()),
                     ring.world_rank(plan.left()),
                     [&] { ring.sendrecv(outgoing, plan.right(), incoming, plan.left()); });
    journal.add("reduce-scatter", step, [&] {
      device.add(sum, incoming);
      device.wait(device.record_own());
    });
  }
}

void ring_all_gather(Exchange& ring, const RingPlan& plan, std::span<float> slice,
                     ReduceJournal& journal) {
  for (int step = 0; step < plan.steps(); ++step) {
    const auto outgoing = cut(slice, plan.chunk(plan.gather_send(step)));
    const auto incoming = cut(slice, plan.chunk(plan.gather_receive(step)));
    journal.transfer("all-gather", step, ring.world_rank(plan.right()),
                     ring.world_rank(plan.left()),
                     [&] { ring.sendrecv(outgoing, plan.right(), incoming, plan.left()); });
  }
}

std::size_t RingAllReduce::scratch_floats(std::size_t length) const {
  return ring_scratch_floats(length, ring_->size());
}

Event RingAllReduce::sum(std::span<float> slice, Event ready) {
  if (ring_->size() == 1 || slice.empty()) return ready;
  const RingPlan plan{slice.size(), ring_->rank(), ring_->size()};
  device_.wait(ready);
  ring_reduce_scatter(*ring_, device_, plan, slice, journal());
  ring_all_gather(*ring_, plan, slice, journal());
  return {};  // everything has been awaited, nothing is left in the device's queue
}

}  // namespace rueda
