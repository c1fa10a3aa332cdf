#pragma once

#include <cstdint>
#include <span>

namespace rueda {

class ReduceJournal;  // reduce/reduce_journal.hpp

/// A message of this rank; an empty span is none.
struct Outgoing {
  std::span<const float> floats;
  int to = -1;
};
struct Incoming {
  std::span<float> floats;
  int from = -1;
};

/// A message of one rank, or one each way, that is over. Plain bytes.
struct TimedMessage {
  double begin = 0;  ///< steady seconds on this rank's clock
  double seconds = 0;
  std::int32_t to = -1;        ///< world rank; -1: none, or all
  std::int32_t from = -1;      ///< world rank; -1: none, or all
  std::uint64_t sent = 0;      ///< from 1, among the messages of this journal to `to`
  std::uint64_t received = 0;  ///< from 1, among those from `from`

  double end() const noexcept { return begin + seconds; }
  /// Leaves the first of the long messages here: where all are slow from some moment on, the first
  /// is the one that no other message held up.
  void keep_longer(const TimedMessage& later) noexcept {
    if (later.seconds > 2 * seconds) *this = later;
  }
};

/// How memory goes between some ranks: all the sums that send messages know of
/// each other. Ranks are numbered from 0. All of them use the same kind.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The number in the whole job of rank `rank` of these ranks.
  virtual int world_rank(int rank) const = 0;

  /// Sends a message while receiving another, of exactly the length of its
  /// span. The two lengths may differ and be 0; the memory must not overlap. It
  /// is the device's: work on it has passed before, and on return it may be
  /// read and written again. The current act of `journal` is this exchange.
  /// Throws RunError.
  virtual void sendrecv(const Outgoing& send, const Incoming& receive,
                        const ReduceJournal& journal) = 0;
  /// The same for host memory: a few floats about the messages before.
  virtual void sendrecv_host(std::span<const float> send, int to, std::span<float> receive,
                             int from) = 0;
  /// Collective: data[i] becomes the sum over ranks, in an order of the library's.
  virtual void all_reduce_sum(std::span<float> data) = 0;
};

}  // namespace rueda
