#pragma once

#include <memory>
#include <span>
#include <utility>

#include "reduce/reduce_journal.hpp"
#include "reduce/ring_plan.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/exchange.hpp"

namespace rueda {

/// A step of a sum, as the journal has it.
struct SumStep {
  const char* phase = "";  ///< a literal
  int number = 0;          ///< of the phase, from 0
};

/// What a sum by messages works with; all of it outlives the sum.
struct SumPlace {
  Exchange& ranks;
  ReduceDevice& device;
  ReduceJournal& journal;

  RingPlan ring(std::size_t length) const { return {length, ranks.rank(), ranks.size()}; }
  /// One message each way.
  void exchange(SumStep step, const Outgoing& send, const Incoming& receive) const;
  /// Adds, and waits for it: the sum may be sent then, and `from` received into again.
  void add(SumStep step, std::span<float> into, std::span<const float> from) const;
};

/// An all-reduce that sends messages between ranks and adds on a device.
class MessageAllReduce : public AllReduce {
 public:
  /// Keeps `device`, which outlives it.
  MessageAllReduce(std::unique_ptr<Exchange> ranks, ReduceDevice& device)
      : ranks_(std::move(ranks)), device_(device) {}

  Event sum(std::span<float> slice, Event ready, ReduceJournal& journal) final {
    return sum_now(slice, ready, journal, false);
  }
  Event sum_exactly(std::span<float> slice, Event ready, ReduceJournal& journal) final {
    return sum_now(slice, ready, journal, true);
  }

 protected:
  /// Sums a slice that is ready and not empty over more than one rank.
  /// Everything has been awaited when it returns. `exactly`: with fp32 on the
  /// wire.
  virtual void add_up(const SumPlace& place, std::span<float> slice, bool exactly) = 0;

  std::unique_ptr<Exchange> ranks_;
  ReduceDevice& device_;

 private:
  Event sum_now(std::span<float> slice, Event ready, ReduceJournal& journal, bool exactly);
};

}  // namespace rueda
