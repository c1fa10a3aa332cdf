#include "mpi/sums/ring_all_reduce.hpp"

#include <array>
#include <utility>

#include "base/split.hpp"
#include "rueda/reduce/algorithm.hpp"

// The ring, in words.
//
// The P ranks sit in a circle. Each talks only to its neighbours: it sends to
// the right and receives from the left, both at once, so in every step all
// links are busy in one direction. The slice is cut into P chunks of (almost)
// equal length.
//
// Reduce-scatter: every chunk goes once round the circle and collects
// contributions. Chunk c starts at rank c as that rank's own values; each rank
// that receives it adds its own and sends the sum on in the next step. After
// P-1 steps chunk c has seen all ranks and rests, complete, at rank c-1. In
// each step P chunks travel at the same time, one on every link.
//
// All-gather: the complete chunks go round once more, and each rank keeps a
// copy of what passes. P-1 further steps and every rank holds all chunks.
//
// Each rank sends 2(P-1) chunks of n/P elements. No algorithm can do with less than 2(P-1)/P * n.
//
// Segments. In the reduce-scatter a chunk travels in segments, so that segment k+1 is on its way
// while segment k is added. Each rank does the same for message 0, 1, 2, ... (all segments of step
// 0, then those of step 1, ...): wait, MPI_Sendrecv, queue the addition. What it waits for is one
// addition of the past:
//
//   Message m is received into one of two scratch halves in turn: addition m-2 has to have passed,
//   which read that half. What message m sends was added as message m-K, K being the segments of a
//   chunk. Additions pass in the order in which they were queued, so with K >= 2 the first wait is
//   also after the second; with K = 1 there is one scratch area, and addition m-1 is both. So it
//   is in a host's memory, where this thread adds: one area stays in the processor's cache.
//
// So a sum is never sent before it is complete, nor scratch received into
// before it is read, and in between MPI and the device work at the same time.
// Segments change no order of addition.
//
// Order of work. MPI knows nothing of a device's queue, hence these waits;
// before the all-gather the last additions are waited for, too. The all-gather
// adds nothing and receives in place: the chunk that arrives is one this rank
// has already sent for the last time. It goes in whole chunks. Whatever the
// device computes meanwhile is not waited for.
//
// How a chunk moves is the Exchange's: by one MPI_Sendrecv on the device's own
// memory, or, where MPI cannot read that, in pieces through host memory. The
// steps are the same.

namespace rueda {

namespace {

/// Nothing where `added` is of no addition.
void wait_for(Event& added, const SumPlace& place, int step) {
  if (added.id == 0) return;
  const auto entry = place.journal.add("reduce-scatter", step);
  place.device.wait(std::exchange(added, {}));
}

}  // namespace

void ring_reduce_scatter(const SumPlace& place, std::span<float> slice, std::size_t segment) {
  const RingPlan plan = place.ring(slice.size());
  const Segments segments = Segments::of(plan.largest_chunk(), segment);
  const std::size_t lag = segments.in_flight(adds_meanwhile(place.device));
  const auto scratch = place.device.scratch(lag * segments.length);
  std::array<Event, 2> added{};  // by the half of scratch that the addition reads
  std::size_t message = 0;
  for (int step = 0; step < plan.steps(); ++step) {
    for (std::size_t k = 0; k < segments.count; ++k, ++message) {
      const std::size_t half = message % lag;
      const auto outgoing = cut(slice, segments.cut(plan.chunk(plan.reduce_send(step)), k));
      const auto sum = cut(slice, segments.cut(plan.chunk(plan.reduce_receive(step)), k));
      const auto incoming = scratch.subspan(half * segments.length, sum.size());
      wait_for(added[half], place, step);
      place.exchange({"reduce-scatter", step}, {outgoing, plan.right()}, {incoming, plan.left()});
      const auto entry = place.journal.add("reduce-scatter", step);
      place.device.add(sum, incoming);
      added[half] = place.device.record_own();
    }
  }
  for (std::size_t half = 0; half < lag; ++half) wait_for(added[half], place, plan.steps() - 1);
}

void ring_all_gather(const SumPlace& place, std::span<float> slice) {
  const RingPlan plan = place.ring(slice.size());
  for (int step = 0; step < plan.steps(); ++step) {
    const auto outgoing = cut(slice, plan.chunk(plan.gather_send(step)));
    const auto incoming = cut(slice, plan.chunk(plan.gather_receive(step)));
    place.exchange({"all-gather", step}, {outgoing, plan.right()}, {incoming, plan.left()});
  }
}

std::string RingAllReduce::details() const {
  const std::string chunks = std::to_string(ranks_->size()) + " chunks a bucket";
  if (segment_ == 0) return chunks + ", each in one piece";
  return chunks + " in segments of " + length_text(segment_ * sizeof(float));
}

void RingAllReduce::add_up(const SumPlace& place, std::span<float> slice, bool) {
  ring_reduce_scatter(place, slice, segment_);
  ring_all_gather(place, slice);
}

}  // namespace rueda
