#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "outer_exchange.hpp"

namespace rueda {

/// One message that has to arrive with a wrong bit, and whether it has.
struct MessageFault {
  std::size_t train_step = 0;  ///< global, as the book has it
  std::size_t messages = 0;    ///< of that step that arrive unharmed before
  bool done = false;
};

/// A fault injected on purpose: flips the highest bit of the mantissa of the
/// middle float (of a bf16 wire: of one of two numbers) of a message after it
/// was received. The number stays finite, and no sum, loss or exit code shows
/// it.
class CorruptingExchange final : public OuterExchange {
 public:
  /// All exchanges of an all-reduce share `fault` and its `book`.
  CorruptingExchange(std::unique_ptr<Exchange> moves, Communicator& ranks, ReduceDevice& device,
                     std::shared_ptr<const ReduceJournal> book, std::shared_ptr<MessageFault> fault)
      : OuterExchange(std::move(moves), ranks, device, std::move(book)), fault_(std::move(fault)) {}

  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override {
    inner_->sendrecv(send, to, receive, from);
    MessageFault& fault = *fault_;
    if (fault.done || receive.empty() || book_->now().train_step != fault.train_step) return;
    if (fault.messages-- > 0) return;
    fault.done = true;
    constexpr std::uint32_t kFlipped = 1U << 22U;
    const auto one = receive.subspan(receive.size() / 2, 1);
    const auto host = device_.host_scratch(1).first(1);
    device_.copy(host, one);
    device_.wait(device_.record_own());
    host[0] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(host[0]) ^ kFlipped);
    device_.copy(one, host);
    device_.wait(device_.record_own());
  }

 private:
  std::shared_ptr<MessageFault> fault_;
};

}  // namespace rueda
