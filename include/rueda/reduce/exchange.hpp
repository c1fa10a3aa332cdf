#pragma once

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
