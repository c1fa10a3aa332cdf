#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "mpi/exchange/outer_exchange.hpp"
#include "rueda/reduce/reduce_device.hpp"

namespace rueda {

/// One message that has to arrive with a wrong bit, and whether it has.
struct MessageFault {
  std::size_t train_step = 0;  ///< global, as the journal has it
  std::size_t messages = 0;    ///< of that step that arrive unharmed before
  bool done = false;
};

/// A fault injected on purpose: flips the highest bit of the mantissa of the
/// middle float (of a bf16 wire: of one of two numbers) of a message after it
/// was received. The number stays finite, and no sum, loss or exit code shows
/// it.
class CorruptingExchange final : public OuterExchange {
 public:
  /// Keeps `device`, which outlives it. All exchanges of an all-reduce share
  /// `fault`.
  CorruptingExchange(std::unique_ptr<Exchange> inner, ReduceDevice& device,
                     std::shared_ptr<MessageFault> fault)
      : OuterExchange(std::move(inner)), device_(device), fault_(std::move(fault)) {}

  void sendrecv(const Outgoing& send, const Incoming& receive,
                const ReduceJournal& journal) override;

 private:
  ReduceDevice& device_;
  std::shared_ptr<MessageFault> fault_;
};

}  // namespace rueda
