#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exchange.hpp"
#include "rueda/reduce/reduce_journal.hpp"

namespace rueda {

/// Every message is followed by its check sum (kernels::message_check), taken by the sender's
/// device before the message leaves and by the receiver's once it is there: so whatever happens to
/// it in between is noticed, copies through host memory included. `sendrecv` throws a RunError at
/// the receiver that names step, sender, receiver, hosts, length and both sums. The sums of
/// all_reduce_sum are MPI's and go unseen.
///
/// A message costs a pass over it on either side and one more of 8 bytes.
class VerifiedExchange final : public ForwardingExchange {
 public:
  /// Collective over `ranks`, between which `moves` moves messages. Keeps `ranks` and `device`,
  /// which outlive it. `book` is that of the all-reduce that this works for.
  VerifiedExchange(std::unique_ptr<Exchange> moves, Communicator& ranks, ReduceDevice& device,
                   std::shared_ptr<const ReduceJournal> book);

  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override;

 private:
  /// "rank 3 on h1", of rank `rank` of these ranks.
  std::string name_of(int rank) const;
  [[noreturn]] void report(int from, std::size_t floats, std::uint64_t sent,
                           std::uint64_t found) const;

  Communicator& ranks_;
  ReduceDevice& device_;
  std::shared_ptr<const ReduceJournal> book_;
  std::vector<std::string> hosts_;  ///< of each rank
};

/// One message that has to arrive with a wrong bit, and whether it has.
struct MessageFault {
  std::size_t train_step = 0;  ///< global, as the book has it
  std::size_t messages = 0;    ///< of that step that arrive unharmed before
  bool done = false;
};

/// A fault injected on purpose: flips the highest bit of the mantissa of the middle float (of a
/// bf16 wire: of one of two numbers) of a message after it was received. The number stays finite,
/// and no sum, loss or exit code shows it.
class CorruptingExchange final : public ForwardingExchange {
 public:
  /// Keeps `device`, which outlives it. All exchanges of an all-reduce share `fault` and its
  /// `book`.
  CorruptingExchange(std::unique_ptr<Exchange> moves, ReduceDevice& device,
                     std::shared_ptr<MessageFault> fault, std::shared_ptr<const ReduceJournal> book)
      : ForwardingExchange(std::move(moves)),
        device_(device),
        fault_(std::move(fault)),
        book_(std::move(book)) {}

  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override;

 private:
  ReduceDevice& device_;
  std::shared_ptr<MessageFault> fault_;
  std::shared_ptr<const ReduceJournal> book_;
};

}  // namespace rueda
