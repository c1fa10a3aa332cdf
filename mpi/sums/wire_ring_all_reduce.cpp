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

/// The first half of one sum. Messages are counted over all steps.
class WireScatter {
 public:
  WireScatter(const SumPlace& place, std::span<float> slice, std::span<float> scratch,
              std::size_t segment)
      : place_(place),
        slice_(slice),
        scratch_(scratch),
        plan_(place.ring(slice.size())),
        segments_(Segments::of(plan_.largest_chunk(), segment)) {}

  void run() {
    const std::size_t messages = std::size_t(plan_.steps()) * segments_.count;
    const bool ahead = segments_.in_flight() == 2;
    Event rounded = round(0);
    for (std::size_t m = 0; m < messages; ++m) {
      const bool more = m + 1 < messages;
      {
        const auto entry = place_.journal.add("reduce-scatter", step_of(m));
        place_.device.wait(rounded);
        if (ahead && more) rounded = round(m + 1);
      }
      exchange(m);
      const auto entry = place_.journal.add("reduce-scatter", step_of(m));
      const Range sum = summed(m);
      place_.device.add_narrow(cut(slice_, sum), narrow_view(incoming(m), sum.size()));
      if (!ahead && more) rounded = round(m + 1);
    }
  }

 private:
  int step_of(std::size_t m) const { return int(m / segments_.count); }
  Range segment(int chunk, std::size_t m) const {
    return segments_.cut(plan_.chunk(chunk), m % segments_.count);
  }
  /// What message m sends of the slice, and what is added to it.
  Range sent(std::size_t m) const { return segment(plan_.reduce_send(step_of(m)), m); }
  Range summed(std::size_t m) const { return segment(plan_.reduce_receive(step_of(m)), m); }

  std::span<float> buffer(std::size_t index) const {
    const std::size_t room = floats_for(segments_.length);
    return scratch_.subspan(index * room, room);
  }
  std::span<float> outgoing(std::size_t m) const { return buffer(m % segments_.in_flight()); }
  std::span<float> incoming(std::size_t m) const {
    return buffer(segments_.in_flight() + m % segments_.in_flight());
  }

  /// Queued, until the event.
  Event round(std::size_t m) {
    const Range part = sent(m);
    place_.device.narrow(narrow_view(outgoing(m), part.size()), cut(slice_, part));
    return place_.device.record_own();
  }
  void exchange(std::size_t m) {
    place_.exchange({"reduce-scatter", step_of(m)},
                    {outgoing(m).first(floats_for(sent(m).size())), plan_.right()},
                    {incoming(m).first(floats_for(summed(m).size())), plan_.left()});
  }

  const SumPlace& place_;
  std::span<float> slice_;
  std::span<float> scratch_;
  RingPlan plan_;
  Segments segments_;
};

/// The second half. Its two buffers take turns: one is sent, the other received into.
class WireGather {
 public:
  WireGather(const SumPlace& place, std::span<float> slice, std::span<float> scratch)
      : place_(place), slice_(slice), scratch_(scratch), plan_(place.ring(slice.size())) {}

  void run() {
    round_owned();
    for (int step = 0; step < plan_.steps(); ++step) {
      const Range sent = plan_.chunk(plan_.gather_send(step));
      const Range come = plan_.chunk(plan_.gather_receive(step));
      wait_in_journal(step);
      place_.exchange({"all-gather", step},
                      {buffer(step).first(floats_for(sent.size())), plan_.right()},
                      {buffer(step + 1).first(floats_for(come.size())), plan_.left()});
      const auto entry = place_.journal.add("all-gather", step);
      widen(step + 1, come);
    }
    const auto entry = place_.journal.add("all-gather", plan_.steps() - 1);
    wait(0);
    wait(1);
  }

 private:
  std::span<float> buffer(int turn) const {
    const std::size_t room = floats_for(plan_.largest_chunk());
    return scratch_.subspan(std::size_t(turn % 2) * room, room);
  }
  Event& widened(int turn) { return widened_[std::size_t(turn % 2)]; }

  /// The owner's copy of its chunk is rounded, too.
  void round_owned() {
    const Range owned = plan_.chunk(plan_.owned());
    const auto entry = place_.journal.add("all-gather", 0);
    place_.device.narrow(narrow_view(buffer(0), owned.size()), cut(slice_, owned));
    widen(0, owned);
    wait(0);
  }
  void widen(int turn, Range chunk) {
    place_.device.widen(cut(slice_, chunk), narrow_view(buffer(turn), chunk.size()));
    widened(turn) = place_.device.record_own();
  }
  void wait(int turn) { place_.device.wait(std::exchange(widened(turn), {})); }
  /// Until the buffer that `step` receives into has been read.
  void wait_in_journal(int step) {
    const auto entry = place_.journal.add("all-gather", step);
    wait(step + 1);
  }

  const SumPlace& place_;
  std::span<float> slice_;
  std::span<float> scratch_;
  RingPlan plan_;
  std::array<Event, 2> widened_{};  ///< by buffer
};

}  // namespace

std::size_t WireRingAllReduce::scratch_floats(std::size_t length) const {
  if (ranks_->size() == 1 || length == 0) return 0;
  const RingPlan plan{length, ranks_->rank(), ranks_->size()};
  const Segments segments = Segments::of(plan.largest_chunk(), segment_);
  return std::max(scatter_floats(segments), gather_floats(plan));
}

void WireRingAllReduce::add_up(const SumPlace& place, std::span<float> slice, bool exactly) {
  if (exactly) return RingAllReduce::add_up(place, slice, exactly);
  // Once for both: the device's last addition of the first may still read it.
  const auto scratch = place.device.scratch(scratch_floats(slice.size()));
  WireScatter(place, slice, scratch, segment_).run();
  WireGather(place, slice, scratch).run();
}

}  // namespace rueda
