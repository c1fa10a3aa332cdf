#pragma once

#include <span>

#include "mpi/session/communicator.hpp"

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

}  // namespace rueda
