#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "mpi/session/communicator.hpp"
#include "rueda/reduce/reduce_device.hpp"

namespace rueda {

/// How a device's memory goes from rank to rank: handed to MPI as it is, or through host memory.
/// All ranks use the same kind. Work on the memory has passed before a call, and the call returns
/// when the memory may be read and written again, by MPI and the device alike.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The number in the whole job of rank `rank` of these ranks.
  virtual int world_rank(int rank) const = 0;
  /// Sends `send` to rank `to` while receiving exactly `receive.size()` floats from rank `from`.
  /// The two lengths may differ and be 0; the memory must not overlap. Throws RunError.
  virtual void sendrecv(std::span<const float> send, int to, std::span<float> receive,
                        int from) = 0;
  /// Collective, by MPI_Allreduce: data[i] becomes the sum over ranks.
  virtual void all_reduce_sum(std::span<float> data) = 0;
};

/// MPI reads and writes the device's memory: for host memory, and for GPUs where MPI can do that.
class DirectExchange : public Exchange {
 public:
  /// Keeps `ranks`, which outlives it.
  explicit DirectExchange(Communicator& ranks) : ranks_(ranks) {}

  int rank() const override { return ranks_.rank(); }
  int size() const override { return ranks_.size(); }
  int world_rank(int rank) const override { return ranks_.world_rank(rank); }
  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override {
    ranks_.sendrecv(send, to, receive, from);
  }
  void all_reduce_sum(std::span<float> data) override { ranks_.all_reduce_sum(data); }

 protected:
  Communicator& ranks_;
};

/// MPI sees host memory only. A message goes in pieces: while one is on the wire, the next is on
/// its way to the host and the one before on its way back to the device. No bit differs from a
/// direct exchange.
class StagedExchange final : public DirectExchange {
 public:
  /// 512 KiB: long enough to hide what starting a copy costs, short enough to overlap in a chunk.
  static constexpr std::size_t kPieceElements = std::size_t{1} << 17;

  /// Keeps both; they outlive it. `piece_elements` is the same on all ranks. Takes host memory for
  /// four pieces, or for the whole slice in `all_reduce_sum`.
  StagedExchange(Communicator& ranks, ReduceDevice& device,
                 std::size_t piece_elements = kPieceElements)
      : DirectExchange(ranks), device_(device), piece_elements_(piece_elements) {}

  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override;
  /// In one piece, since MPI's order of addition may depend on the length.
  void all_reduce_sum(std::span<float> data) override;

 private:
  ReduceDevice& device_;
  std::size_t piece_elements_;
};

/// An exchange that does more with the messages of another one.
class ForwardingExchange : public Exchange {
 public:
  explicit ForwardingExchange(std::unique_ptr<Exchange> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  int world_rank(int rank) const override { return inner_->world_rank(rank); }
  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override {
    inner_->sendrecv(send, to, receive, from);
  }
  void all_reduce_sum(std::span<float> data) override { inner_->all_reduce_sum(data); }

 private:
  std::unique_ptr<Exchange> inner_;
};

}  // namespace rueda
