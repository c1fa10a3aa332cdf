#pragma once

#include <memory>
#include <span>
#include <utility>

#include "mpi/session/communicator.hpp"
#include "reduce/reduce_journal.hpp"
#include "rueda/reduce/exchange.hpp"

namespace rueda {

/// Hands memory to MPI as it is: host memory, and that of GPUs where MPI can
/// read it.
class MpiExchange final : public Exchange {
 public:
  /// Keeps `ranks`, which outlives it.
  explicit MpiExchange(Communicator& ranks) : ranks_(ranks) {}
  /// Between ranks of its own, for example those of a split.
  explicit MpiExchange(Communicator&& ranks)
      : own_(std::make_unique<Communicator>(std::move(ranks))), ranks_(*own_) {}

  Communicator& ranks() const { return ranks_; }

  int rank() const override { return ranks_.rank(); }
  int size() const override { return ranks_.size(); }
  int world_rank(int rank) const override { return ranks_.world_rank(rank); }
  void sendrecv(const Outgoing& send, const Incoming& receive, const ReduceJournal&) override {
    ranks_.sendrecv(send.floats, send.to, receive.floats, receive.from);
  }
  void sendrecv_host(std::span<const float> send, int to, std::span<float> receive,
                     int from) override {
    ranks_.sendrecv(send, to, receive, from);
  }
  /// By MPI_Allreduce.
  void all_reduce_sum(std::span<float> data) override { ranks_.all_reduce_sum(data); }

 private:
  std::unique_ptr<Communicator> own_;
  Communicator& ranks_;
};

}  // namespace rueda
