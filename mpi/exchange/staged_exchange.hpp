#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "mpi/exchange/outer_exchange.hpp"
#include "reduce/reduce_journal.hpp"
#include "rueda/reduce/reduce_device.hpp"

namespace rueda {

/// The exchange inside sees host memory only. A message goes in pieces: while
/// one is on the wire, the next is on its way to the host and the one before on
/// its way back to the device. No bit differs from a direct exchange.
class StagedExchange final : public OuterExchange {
 public:
  /// 512 KiB: long enough to hide what starting a copy costs, short enough to overlap in a chunk.
  static constexpr std::size_t kPieceElements = std::size_t{1} << 17;

  /// Keeps `device`, which outlives it. `piece_elements` is the same on all
  /// ranks. Takes host memory for four pieces, or for the whole slice in
  /// `all_reduce_sum`.
  StagedExchange(std::unique_ptr<Exchange> inner, ReduceDevice& device,
                 std::size_t piece_elements = kPieceElements)
      : OuterExchange(std::move(inner)), device_(device), piece_elements_(piece_elements) {}

  void sendrecv(const Outgoing& send, const Incoming& receive,
                const ReduceJournal& journal) override;
  /// In one piece, since MPI's order of addition may depend on the length.
  void all_reduce_sum(std::span<float> data) override;

 private:
  /// A piece on its way to the host, where it is once `passed` has.
  struct Fetched {
    std::span<const float> floats;
    Event passed;
  };
  /// Piece `index` of `send`, into one of the two first quarters of `host`.
  Fetched fetch(std::span<const float> send, std::span<float> host, std::size_t index);

  ReduceDevice& device_;
  std::size_t piece_elements_;
};

}  // namespace rueda
