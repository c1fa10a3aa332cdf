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
void StagedExchange::sendrecv(const Outgoing& send, const Incoming& receive,
                              const ReduceJournal& journal) {
  const std::size_t length = piece_elements_;
  const std::size_t count = pieces(std::max(send.floats.size(), receive.floats.size()), length);
  if (count == 0) return;
  const auto host = device_.host_scratch(4 * length);
  Fetched next = fetch(send.floats, host, 0);
  for (std::size_t k = 0; k < count; ++k) {
    const Fetched now = next;
    device_.wait(now.passed);
    if (k + 1 < count) next = fetch(send.floats, host, k + 1);
    const auto part = piece(receive.floats, length, k);
    const auto in = host.subspan((2 + k % 2) * length, part.size());
    inner_->sendrecv({now.floats, send.to}, {in, receive.from}, journal);
    if (!in.empty()) device_.copy(part, in);
  }
  device_.wait(device_.record_own());
}

StagedExchange::Fetched StagedExchange::fetch(std::span<const float> send, std::span<float> host,
                                              std::size_t index) {
  const auto from = piece(send, piece_elements_, index);
  const auto to = host.subspan(index % 2 * piece_elements_, from.size());
  if (!from.empty()) device_.copy(to, from);
  return {to, device_.record_own()};
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
