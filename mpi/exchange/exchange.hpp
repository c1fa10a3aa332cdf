#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "mpi/session/communicator.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/split.hpp"
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

  // Two host buffers for each direction take turns. At any time
  //
  //   piece k+1 is copied from the device to the host,
  //   piece k is in MPI_Sendrecv, both ways,
  //   piece k-1, received, is copied to the device.
  //
  // One event orders it all, because the device works in the order of its
  // queue: the event after the copy of piece k+1 to the host also comes after
  // the copy of received piece k-1 to the device. So when it has passed, piece
  // k+1 may be sent, and the buffer of piece k-1 be received into again.
  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override {
    const std::size_t length = piece_elements_;
    const std::size_t count = pieces(std::max(send.size(), receive.size()), length);
    if (count == 0) return;
    const auto host = device_.host_scratch(4 * length);
    const auto out = [&](std::size_t k) {
      return host.subspan(k % 2 * length, piece(send, length, k).size());
    };
    const auto in = [&](std::size_t k) {
      return host.subspan((2 + k % 2) * length, piece(receive, length, k).size());
    };
    const auto fetch = [&](std::size_t k) {
      if (!out(k).empty()) device_.copy(out(k), piece(send, length, k));
      return device_.record_own();
    };

    Event fetched = fetch(0);
    for (std::size_t k = 0; k < count; ++k) {
      device_.wait(fetched);
      if (k + 1 < count) fetched = fetch(k + 1);
      ranks_.sendrecv(out(k), to, in(k), from);
      if (!in(k).empty()) device_.copy(piece(receive, length, k), in(k));
    }
    device_.wait(device_.record_own());
  }
  /// In one piece, since MPI's order of addition may depend on the length.
  void all_reduce_sum(std::span<float> data) override {
    const auto host = device_.host_scratch(data.size()).first(data.size());
    device_.copy(host, data);
    device_.wait(device_.record_own());
    ranks_.all_reduce_sum(host);
    device_.copy(data, host);
    device_.wait(device_.record_own());
  }

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
  using OuterExchange::OuterExchange;

  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override {
    auto mine = std::bit_cast<Words>(device_.check_sum(send));
    Words theirs{};
    inner_->sendrecv(send, to, receive, from);
    ranks_.sendrecv(none_if(send.empty(), mine), to, none_if(receive.empty(), theirs), from);
    const auto sent = std::bit_cast<std::uint64_t>(theirs);
    const std::uint64_t found = device_.check_sum(receive);
    if (found != sent) report(from, receive.size(), sent, found);
  }

 private:
  /// A check sum as it travels.
  using Words = std::array<float, 2>;

  static std::span<float> none_if(bool empty, Words& words) {
    return empty ? std::span<float>{} : std::span<float>(words);
  }
  /// "step 17, bucket 2, reduce-scatter step 0".
  static std::string position_of(const ReduceNow& now) {
    const std::string place = fmt::format("{} step {}", now.act.phase, now.act.step);
    if (now.train_step == 0) return place;
    return fmt::format("step {}, bucket {}, {}", now.train_step, now.bucket, place);
  }
  /// "rank 3 on h1", of rank `rank` of these ranks.
  std::string name_of(int rank) const {
    return fmt::format("rank {} on {}", world_rank(rank), hosts_.at(std::size_t(rank)));
  }
  [[noreturn]] void report(int from, std::size_t floats, std::uint64_t sent,
                           std::uint64_t found) const {
    throw RunError(fmt::format(
        "a message of gradients was corrupted on its way from {} to {}: {}, {} floats, check sum "
        "{:016x} where sent and {:016x} where received. Memory, network card or link of one of the "
        "two is faulty: run rueda doctor on these hosts, and look at their ECC and link error "
        "counters (nvidia-smi -q -d ECC, /sys/devices/system/edac, ethtool -S or perfquery)",
        name_of(from), name_of(rank()), position_of(book_->now()), floats, sent, found));
  }

  std::vector<std::string> hosts_ = all_gather_text(ranks_, ranks_.host());  ///< of each rank
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
