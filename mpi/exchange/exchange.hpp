#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mpi/session/communicator.hpp"
#include "rueda/reduce/reduce_device.hpp"
#include "rueda/reduce/reduce_journal.hpp"

namespace rueda {

/// How a device's memory goes from rank to rank. This one hands it to MPI as it
/// is: host memory, and that of GPUs where MPI can read it. All ranks use the
/// same kind. Work on the memory has passed before a call, and the call returns
/// when the memory may be read and written again, by MPI and the device alike.
class Exchange {
 public:
  /// Keeps `ranks`, which outlives it.
  explicit Exchange(Communicator& ranks) : ranks_(ranks) {}
  virtual ~Exchange() = default;

  int rank() const { return ranks_.rank(); }
  int size() const { return ranks_.size(); }
  /// The number in the whole job of rank `rank` of these ranks.
  int world_rank(int rank) const { return ranks_.world_rank(rank); }
  /// Sends `send` to rank `to` while receiving exactly `receive.size()` floats
  /// from rank `from`. The two lengths may differ and be 0; the memory must not
  /// overlap. Throws RunError.
  virtual void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) {
    ranks_.sendrecv(send, to, receive, from);
  }
  /// Collective, by MPI_Allreduce: data[i] becomes the sum over ranks.
  virtual void all_reduce_sum(std::span<float> data) { ranks_.all_reduce_sum(data); }

 protected:
  Communicator& ranks_;
};

/// MPI sees host memory only. A message goes in pieces: while one is on the
/// wire, the next is on its way to the host and the one before on its way back
/// to the device. No bit differs from a direct exchange.
class StagedExchange final : public Exchange {
 public:
  /// 512 KiB: long enough to hide what starting a copy costs, short enough to overlap in a chunk.
  static constexpr std::size_t kPieceElements = std::size_t{1} << 17;

  /// Keeps both; they outlive it. `piece_elements` is the same on all ranks.
  /// Takes host memory for four pieces, or for the whole slice in
  /// `all_reduce_sum`.
  StagedExchange(Communicator& ranks, ReduceDevice& device,
                 std::size_t piece_elements = kPieceElements)
      : Exchange(ranks), device_(device), piece_elements_(piece_elements) {}

  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override;
  /// In one piece, since MPI's order of addition may depend on the length.
  void all_reduce_sum(std::span<float> data) override;

 private:
  ReduceDevice& device_;
  std::size_t piece_elements_;
};

/// An exchange that looks at the messages of another one.
class OuterExchange : public Exchange {
 public:
  /// Keeps `ranks`, between which `inner` moves messages, and `device`; both
  /// outlive it. `book` is that of the all-reduce that this works for.
  OuterExchange(std::unique_ptr<Exchange> inner, Communicator& ranks, ReduceDevice& device,
                std::shared_ptr<const ReduceJournal> book)
      : Exchange(ranks), inner_(std::move(inner)), device_(device), book_(std::move(book)) {}

  void all_reduce_sum(std::span<float> data) override { inner_->all_reduce_sum(data); }

 protected:
  std::unique_ptr<Exchange> inner_;
  ReduceDevice& device_;
  std::shared_ptr<const ReduceJournal> book_;
};

/// Every message is followed by its check sum (kernels::message_check), taken
/// by the sender's device before the message leaves and by the receiver's once
/// it is there: so whatever happens to it in between is noticed, copies through
/// host memory included. `sendrecv` throws a RunError at the receiver that
/// names step, sender, receiver, hosts, length and both sums. The sums of
/// all_reduce_sum are MPI's and go unseen.
///
/// A message costs a pass over it on either side and one more of 8 bytes.
class VerifiedExchange final : public OuterExchange {
 public:
  /// Collective over `ranks`.
  VerifiedExchange(std::unique_ptr<Exchange> moves, Communicator& ranks, ReduceDevice& device,
                   std::shared_ptr<const ReduceJournal> book)
      : OuterExchange(std::move(moves), ranks, device, std::move(book)),
        hosts_(all_gather_text(ranks, ranks.host())) {}

  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override;

 private:
  /// "rank 3 on h1", of rank `rank` of these ranks.
  std::string name_of(int rank) const;
  [[noreturn]] void report(int from, std::size_t floats, std::uint64_t sent,
                           std::uint64_t found) const;

  std::vector<std::string> hosts_;  ///< of each rank
};

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

  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override;

 private:
  std::shared_ptr<MessageFault> fault_;
};

}  // namespace rueda
