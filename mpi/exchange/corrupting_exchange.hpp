#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "exchange.hpp"
#include "rueda/reduce/reduce_journal.hpp"

namespace rueda {

/// One message that is to arrive with a bit that was not sent, and whether it has.
struct MessageFault {
  std::size_t train_step = 0;  ///< global, as the book has it
  std::size_t messages = 0;    ///< of that step that arrive unharmed before
  bool done = false;
};

/// A fault put in on purpose: flips the highest bit of the mantissa of the middle float (of a bf16
/// wire: of one of two numbers) of a message after it was received. The number stays finite, and no
/// sum, loss or exit code tells.
class CorruptingExchange final : public Exchange {
 public:
  /// Keeps `device`, which outlives it. All exchanges of an all-reduce share `fault` and its
  /// `book`.
  CorruptingExchange(std::unique_ptr<Exchange> moves, ReduceDevice& device,
                     std::shared_ptr<MessageFault> fault, std::shared_ptr<const ReduceJournal> book)
      : moves_(std::move(moves)),
        device_(device),
        fault_(std::move(fault)),
        book_(std::move(book)) {}

  int rank() const override { return moves_->rank(); }
  int size() const override { return moves_->size(); }
  int world_rank(int rank) const override { return moves_->world_rank(rank); }
  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override;
  void all_reduce_sum(std::span<float> data) override { moves_->all_reduce_sum(data); }

 private:
  std::unique_ptr<Exchange> moves_;
  ReduceDevice& device_;
  std::shared_ptr<MessageFault> fault_;
  std::shared_ptr<const ReduceJournal> book_;
};

}  // namespace rueda
