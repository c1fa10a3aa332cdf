#include "mpi/exchange/staged_exchange.hpp"

#include <algorithm>

#include "base/split.hpp"

namespace rueda {

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
void StagedExchange::sendrecv(std::span<const float> send, int to, std::span<float> receive,
                              int from) {
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
    inner_->sendrecv(out(k), to, in(k), from);
    if (!in(k).empty()) device_.copy(piece(receive, length, k), in(k));
  }
  device_.wait(device_.record_own());
}

void StagedExchange::all_reduce_sum(std::span<float> data) {
  const auto host = device_.host_scratch(data.size()).first(data.size());
  device_.copy(host, data);
  device_.wait(device_.record_own());
  inner_->all_reduce_sum(host);
  device_.copy(data, host);
  device_.wait(device_.record_own());
}

}  // namespace rueda
