#pragma once

#include <memory>
#include <span>
#include <utility>

#include "reduce/ring_plan.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/exchange.hpp"

namespace rueda {

/// A step of a sum, as the journal has it.
struct SumStep {
  const char* phase = "";  ///< a literal
  int number = 0;          ///< of the phase, from 0
};
/// A message of this rank; an empty span is none.
struct Outgoing {
  std::span<const float> floats;
  int to = -1;
};
struct Incoming {
  std::span<float> floats;
  int from = -1;
};

/// One message each way, in the journal.
inline void transfer(Exchange& ranks, ReduceJournal& journal, SumStep step, const Outgoing& send,
                     const Incoming& receive) {
  journal.transfer(step.phase, step.number, send.floats.empty() ? -1 : ranks.world_rank(send.to),
                   receive.floats.empty() ? -1 : ranks.world_rank(receive.from),
                   [&] { ranks.sendrecv(send.floats, send.to, receive.floats, receive.from); });
}

/// An all-reduce that sends messages between ranks and adds on a device.
class MessageAllReduce : public AllReduce {
 public:
  /// Keeps `device`, which outlives it.
  MessageAllReduce(std::unique_ptr<Exchange> ranks, ReduceDevice& device)
      : ranks_(std::move(ranks)), device_(device) {}

  Event sum(std::span<float> slice, Event ready) final { return sum_now(slice, ready, false); }
  Event sum_exactly(std::span<float> slice, Event ready) final {
    return sum_now(slice, ready, true);
  }

 protected:
  /// Sums a slice that is ready and not empty over more than one rank.
  /// Everything has been awaited when it returns. `exactly`: with fp32 on the
  /// wire.
  virtual void add_up(std::span<float> slice, bool exactly) = 0;

  RingPlan plan_of(std::size_t length) const { return {length, ranks_->rank(), ranks_->size()}; }

  void exchange(SumStep step, const Outgoing& send, const Incoming& receive) {
    transfer(*ranks_, journal(), step, send, receive);
  }
  /// Adds, and waits for it: the sum may be sent then, and `from` received into again.
  void add(SumStep step, std::span<float> into, std::span<const float> from);

  std::unique_ptr<Exchange> ranks_;
  ReduceDevice& device_;

 private:
  Event sum_now(std::span<float> slice, Event ready, bool exactly);
};

}  // namespace rueda
