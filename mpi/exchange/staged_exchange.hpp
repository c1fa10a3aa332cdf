#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "exchange.hpp"
#include "rueda/core/split.hpp"
#include "rueda/reduce/reduce_device.hpp"

namespace rueda {

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

}  // namespace rueda
