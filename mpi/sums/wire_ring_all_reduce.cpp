#include "mpi/sums/wire_ring_all_reduce.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/bfloat16.hpp"
#include "base/split.hpp"

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

namespace rueda {
namespace {

using kernels::Bfloat16;

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

std::size_t WireRingAllReduce::scratch_floats(std::size_t length) const {
  if (ranks_->size() == 1 || length == 0) return 0;
  const RingPlan plan = plan_of(length);
  const Segments segments = Segments::of(plan.largest_chunk(), segment_);
  return std::max(scatter_floats(segments), gather_floats(plan));
}

void WireRingAllReduce::add_up(std::span<float> slice, bool exactly) {
  if (exactly) return RingAllReduce::add_up(slice, exactly);
  const RingPlan plan = plan_of(slice.size());
  const auto scratch = device_.scratch(scratch_floats(slice.size()));
  reduce_scatter(plan, slice, scratch);
  all_gather(plan, slice, scratch);
}

void WireRingAllReduce::reduce_scatter(const RingPlan& plan, std::span<float> slice,
                                       std::span<float> scratch) {
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
    device_.narrow(narrow_view(outgoing(m), part.size()), cut(slice, part));
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
    exchange({"reduce-scatter", step}, {outgoing(m).first(floats_for(sent.size())), plan.right()},
             {incoming(m).first(floats_for(sum.size())), plan.left()});
    journal().add("reduce-scatter", step, [&] {
      device_.add_narrow(cut(slice, sum), narrow_view(incoming(m), sum.size()));
      if (lag == 1 && m + 1 < messages) rounded = round(m + 1);
    });
  }
}

void WireRingAllReduce::all_gather(const RingPlan& plan, std::span<float> slice,
                                   std::span<float> scratch) {
  const std::size_t room = floats_for(plan.largest_chunk());
  const auto buffer = [&](int turn) { return scratch.subspan(std::size_t(turn % 2) * room, room); };
  std::array<Event, 2> widened{};  // by buffer
  const auto widen = [&](int turn, Range chunk) {
    device_.widen(cut(slice, chunk), narrow_view(buffer(turn), chunk.size()));
    widened[std::size_t(turn % 2)] = device_.record_own();
  };
  const auto wait = [&](int turn) {
    device_.wait(std::exchange(widened[std::size_t(turn % 2)], {}));
  };

  const Range owned = plan.chunk(plan.owned());
  journal().add("all-gather", 0, [&] {
    device_.narrow(narrow_view(buffer(0), owned.size()), cut(slice, owned));
    widen(0, owned);
    wait(0);
  });
  for (int step = 0; step < plan.steps(); ++step) {
    const Range sent = plan.chunk(plan.gather_send(step));
    const Range come = plan.chunk(plan.gather_receive(step));
    journal().add("all-gather", step, [&] { wait(step + 1); });
    exchange({"all-gather", step}, {buffer(step).first(floats_for(sent.size())), plan.right()},
             {buffer(step + 1).first(floats_for(come.size())), plan.left()});
    journal().add("all-gather", step, [&] { widen(step + 1, come); });
  }
  journal().add("all-gather", plan.steps() - 1, [&] {
    wait(0);
    wait(1);
  });
}

}  // namespace rueda
