#pragma once

#include <memory>
#include <span>
#include <utility>

#include "mpi/exchange/exchange.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/ring_plan.hpp"

namespace rueda {

/// One message each way, in the journal; an empty span is none.
void transfer(Exchange& ranks, ReduceJournal& journal, const char* phase, int step,
              std::span<const float> send, int to, std::span<float> receive, int from);

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

  void exchange(const char* phase, int step, std::span<const float> send, int to,
                std::span<float> receive, int from) {
    transfer(*ranks_, journal(), phase, step, send, to, receive, from);
  }
  /// Adds, and waits for it: the sum may be sent then, and `from` received into again.
  void add(const char* phase, int step, std::span<float> into, std::span<const float> from);

  std::unique_ptr<Exchange> ranks_;
  ReduceDevice& device_;

 private:
  Event sum_now(std::span<float> slice, Event ready, bool exactly);
};

}  // namespace rueda
