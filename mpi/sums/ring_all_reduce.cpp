#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "message_sums.hpp"
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
//   also after the second; with K = 1 there is one scratch area, and addition m-1 is both.
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

using kernels::Bfloat16;

template <class T>
std::span<T> cut_if_any(std::span<T> slice, Range part) {
  return slice.empty() ? slice : slice.subspan(part.begin, part.size());
}

/// Floats in which `count` bf16 numbers lie.
std::size_t floats_for(std::size_t count) { return (count + 1) / 2; }

std::span<Bfloat16> narrow_view(std::span<float> floats, std::size_t count) {
  return {reinterpret_cast<Bfloat16*>(floats.data()), count};
}

/// Buffers of the reduce-scatter, two in flight for each direction; and of the all-gather.
std::size_t scatter_floats(const Segments& segments) {
  return 2 * segments.in_flight() * floats_for(segments.length);
}
std::size_t gather_floats(const RingPlan& plan) { return 2 * floats_for(plan.largest_chunk()); }

}  // namespace

void transfer(Exchange& ranks, ReduceJournal& journal, const char* phase, int step,
              std::span<const float> send, int to, std::span<float> receive, int from) {
  journal.transfer(phase, step, send.empty() ? -1 : ranks.world_rank(to),
                   receive.empty() ? -1 : ranks.world_rank(from),
                   [&] { ranks.sendrecv(send, to, receive, from); });
}

void MessageAllReduce::add(const char* phase, int step, std::span<float> into,
                           std::span<const float> from) {
  journal().add(phase, step, [&] {
    device_.add(into, from);
    device_.wait(device_.record_own());
  });
}

Event MessageAllReduce::sum_now(std::span<float> slice, Event ready, bool exactly) {
  if (ranks_->size() == 1 || slice.empty()) return ready;
  device_.wait(ready);
  add_up(slice, exactly);
  return {};  // everything has been awaited, nothing is left in the device's queue
}

void ring_reduce_scatter(Exchange& ring, ReduceDevice& device, const RingPlan& plan,
                         std::span<float> slice, std::size_t segment, ReduceJournal& journal) {
  const Segments segments = Segments::of(plan.largest_chunk(), segment);
  const std::size_t lag = segments.in_flight();
  const auto scratch = device.scratch(lag * segments.length);
  std::array<Event, 2> added{};  // by the half of scratch that the addition reads
  const auto wait_for = [&](int step, std::size_t half) {
    if (added[half].id == 0) return;
    journal.add("reduce-scatter", step, [&] { device.wait(std::exchange(added[half], {})); });
  };
  std::size_t message = 0;
  for (int step = 0; step < plan.steps(); ++step) {
    for (std::size_t k = 0; k < segments.count; ++k, ++message) {
      const std::size_t half = message % lag;
      const auto outgoing = cut(slice, segments.cut(plan.chunk(plan.reduce_send(step)), k));
      const auto sum = cut(slice, segments.cut(plan.chunk(plan.reduce_receive(step)), k));
      const auto incoming = scratch.subspan(half * segments.length, sum.size());
      wait_for(step, half);
      transfer(ring, journal, "reduce-scatter", step, outgoing, plan.right(), incoming,
               plan.left());
      journal.add("reduce-scatter", step, [&] {
        device.add(sum, incoming);
        added[half] = device.record_own();
      });
    }
  }
  for (std::size_t half = 0; half < lag; ++half) wait_for(plan.steps() - 1, half);
}

void ring_all_gather(Exchange& ring, const RingPlan& plan, std::span<float> slice,
                     ReduceJournal& journal) {
  for (int step = 0; step < plan.steps(); ++step) {
    const auto outgoing = cut(slice, plan.chunk(plan.gather_send(step)));
    const auto incoming = cut(slice, plan.chunk(plan.gather_receive(step)));
    transfer(ring, journal, "all-gather", step, outgoing, plan.right(), incoming, plan.left());
  }
}

std::string RingAllReduce::details() const {
  const std::string way = segment_ == 0
                              ? ", each in one piece"
                              : " in segments of " + length_text(segment_ * sizeof(float));
  return fmt::format("{} chunks a bucket{}", ranks_->size(), way);
}

void RingAllReduce::add_up(std::span<float> slice, bool) {
  const RingPlan plan = plan_of(slice.size());
  ring_reduce_scatter(*ranks_, device_, plan, slice, segment_, journal());
  ring_all_gather(*ranks_, plan, slice, journal());
}

// With bf16 on the wire the steps are the same; here is what differs.
//
// MPI and the exchange carry floats, so a message of n bf16 numbers is one of
// n/2 floats, rounded up; the last half of an odd one is not used.
//
// In the reduce-scatter the device rounds what is sent next into one of two
// buffers while the other is on its way. Rounding message m+1 is queued after
// the addition of message m-1 and before that of message m. So when it has
// passed, what was added as message m-1 is out of its receive buffer, too,
// which message m+1 is received into: one wait a message orders it all. It
// needs what was added as message m+1-K, which with K >= 2 segments a chunk is
// queued by then; with K = 1 there is one buffer each, and rounding comes after
// the addition.
//
// In the all-gather a rank hands on the rounded numbers as they came, and
// widens them into the slice meanwhile.

std::size_t WireRingAllReduce::scratch_floats(std::size_t length) const {
  if (ranks_->size() == 1 || length == 0) return 0;
  const RingPlan plan = plan_of(length);
  const Segments segments = Segments::of(plan.largest_chunk(), segment_);
  return std::max(scatter_floats(segments), gather_floats(plan));
}

std::vector<std::span<float>> WireRingAllReduce::carried() {
  std::vector<std::span<float>> all;
  for (const Lost& lost : lost_) all.push_back(lost.values);
  return all;
}

void WireRingAllReduce::add_up(std::span<float> slice, bool exactly) {
  if (exactly) return RingAllReduce::add_up(slice, exactly);
  const RingPlan plan = plan_of(slice.size());
  const auto lost = feedback_ ? lost_by(slice) : std::span<float>{};
  const auto scratch = device_.scratch(scratch_floats(slice.size()));
  reduce_scatter(plan, slice, lost, scratch);
  all_gather(plan, slice, lost, scratch);
}

std::span<float> WireRingAllReduce::lost_by(std::span<const float> slice) {
  auto found = std::ranges::find_if(lost_, [&](const Lost& l) { return lies_in(slice, l.of); });
  if (found == lost_.end()) found = lost_.insert(found, {slice, device_.keep(slice.size())});
  const auto begin = std::size_t(slice.data() - found->of.data());
  return found->values.subspan(begin, slice.size());
}

void WireRingAllReduce::reduce_scatter(const RingPlan& plan, std::span<float> slice,
                                       std::span<float> lost, std::span<float> scratch) {
  const Segments segments = Segments::of(plan.largest_chunk(), segment_);
  const std::size_t lag = segments.in_flight();
  const std::size_t room = floats_for(segments.length);
  const std::size_t messages = std::size_t(plan.steps()) * segments.count;
  const auto step_of = [&](std::size_t m) { return int(m / segments.count); };
  const auto segment = [&](int chunk, std::size_t m) {
    return segments.cut(plan.chunk(chunk), m % segments.count);
  };
  const auto outgoing = [&](std::size_t m) { return scratch.subspan(m % lag * room, room); };
  const auto incoming = [&](std::size_t m) {
    return scratch.subspan((lag + m % lag) * room, room);
  };
  const auto round = [&](std::size_t m) {
    const Range part = segment(plan.reduce_send(step_of(m)), m);
    device_.narrow(narrow_view(outgoing(m), part.size()), cut_if_any(slice, part),
                   cut_if_any(lost, part));
    return device_.record_own();
  };

  Event rounded = round(0);
  for (std::size_t m = 0; m < messages; ++m) {
    const int step = step_of(m);
    const Range sent = segment(plan.reduce_send(step), m);
    const Range sum = segment(plan.reduce_receive(step), m);
    journal().add("reduce-scatter", step, [&] {
      device_.wait(rounded);
      if (lag == 2 && m + 1 < messages) rounded = round(m + 1);
    });
    exchange("reduce-scatter", step, outgoing(m).first(floats_for(sent.size())), plan.right(),
             incoming(m).first(floats_for(sum.size())), plan.left());
    journal().add("reduce-scatter", step, [&] {
      device_.add_narrow(cut_if_any(slice, sum), narrow_view(incoming(m), sum.size()));
      if (lag == 1 && m + 1 < messages) rounded = round(m + 1);
    });
  }
}

void WireRingAllReduce::all_gather(const RingPlan& plan, std::span<float> slice,
                                   std::span<float> lost, std::span<float> scratch) {
  const std::size_t room = floats_for(plan.largest_chunk());
  const auto buffer = [&](int turn) { return scratch.subspan(std::size_t(turn % 2) * room, room); };
  std::array<Event, 2> widened{};  // by buffer
  const auto widen = [&](int turn, Range chunk) {
    device_.widen(cut_if_any(slice, chunk), narrow_view(buffer(turn), chunk.size()));
    widened[std::size_t(turn % 2)] = device_.record_own();
  };
  const auto wait = [&](int turn) {
    device_.wait(std::exchange(widened[std::size_t(turn % 2)], {}));
  };

  const Range owned = plan.chunk(plan.owned());
  journal().add("all-gather", 0, [&] {
    device_.narrow(narrow_view(buffer(0), owned.size()), cut_if_any(slice, owned),
                   cut_if_any(lost, owned));
    widen(0, owned);
    wait(0);
  });
  for (int step = 0; step < plan.steps(); ++step) {
    const Range sent = plan.chunk(plan.gather_send(step));
    const Range come = plan.chunk(plan.gather_receive(step));
    journal().add("all-gather", step, [&] { wait(step + 1); });
    exchange("all-gather", step, buffer(step).first(floats_for(sent.size())), plan.right(),
             buffer(step + 1).first(floats_for(come.size())), plan.left());
    journal().add("all-gather", step, [&] { widen(step + 1, come); });
  }
  journal().add("all-gather", plan.steps() - 1, [&] {
    wait(0);
    wait(1);
  });
}

}  // namespace rueda
