#pragma once

#include <memory>
#include <utility>

#include "mpi/exchange/exchange.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/ring_plan.hpp"

namespace rueda {

/// An all-reduce that sends messages between ranks and adds on a device.
class MessageAllReduce : public AllReduce {
 public:
  /// Keeps `device`, which outlives it.
  MessageAllReduce(std::unique_ptr<Exchange> ranks, ReduceDevice& device)
      : ranks_(std::move(ranks)), device_(device) {}
  /// MPI gets the device's own pointers. Keeps both references; they outlive it.
  MessageAllReduce(Communicator& ranks, ReduceDevice& device)
      : MessageAllReduce(std::make_unique<DirectExchange>(ranks), device) {}

 protected:
  bool is_summed(std::span<const float> slice) const {
    return ranks_->size() == 1 || slice.empty();
  }
  RingPlan plan_of(std::size_t length) const { return {length, ranks_->rank(), ranks_->size()}; }

  /// One message each way, in the journal; an empty span is none.
  void exchange(const char* phase, int step, std::span<const float> send, int to,
                std::span<float> receive, int from) {
    journal().transfer(phase, step, send.empty() ? -1 : ranks_->world_rank(to),
                       receive.empty() ? -1 : ranks_->world_rank(from),
                       [&] { ranks_->sendrecv(send, to, receive, from); });
  }
  /// Adds, and waits for it: the sum may be sent then, and `from` received into again.
  void add(const char* phase, int step, std::span<float> into, std::span<const float> from) {
    journal().add(phase, step, [&] {
      device_.add(into, from);
      device_.wait(device_.record_own());
    });
  }

  std::unique_ptr<Exchange> ranks_;
  ReduceDevice& device_;
};

}  // namespace rueda
