#include "exchange.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "rueda/core/error.hpp"
#include "rueda/core/split.hpp"

namespace rueda {
namespace {

/// A check sum as it travels.
using Words = std::array<float, 2>;

std::span<float> none_if(bool empty, Words& words) {
  return empty ? std::span<float>{} : std::span<float>(words);
}

/// "step 17, bucket 2, reduce-scatter step 0".
std::string position_of(const ReduceNow& now) {
  const std::string place = fmt::format("{} step {}", now.act.phase, now.act.step);
  if (now.train_step == 0) return place;
  return fmt::format("step {}, bucket {}, {}", now.train_step, now.bucket, place);
}

constexpr std::uint32_t kFlipped = 1U << 22U;

void corrupt(ReduceDevice& device, std::span<float> one) {
  const auto host = device.host_scratch(1).first(1);
  device.to_host(host, one);
  device.wait(device.record_own());
  host[0] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(host[0]) ^ kFlipped);
  device.from_host(one, host);
  device.wait(device.record_own());
}

}  // namespace

// Two host buffers for each direction take turns. At any time
//
//   piece k+1 is copied from the device to the host,
//   piece k is in MPI_Sendrecv, both ways,
//   piece k-1, received, is copied to the device.
//
// One event orders it all, because the device works in the order of its queue:
// the event after the copy of piece k+1 to the host also comes after the copy
// of received piece k-1 to the device. So when it has passed, piece k+1 may be
// sent, and the buffer of piece k-1 be received into again.
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
    if (!out(k).empty()) device_.to_host(out(k), piece(send, length, k));
    return device_.record_own();
  };

  Event fetched = fetch(0);
  for (std::size_t k = 0; k < count; ++k) {
    device_.wait(fetched);
    if (k + 1 < count) fetched = fetch(k + 1);
    ranks_.sendrecv(out(k), to, in(k), from);
    if (!in(k).empty()) device_.from_host(piece(receive, length, k), in(k));
  }
  device_.wait(device_.record_own());
}

void StagedExchange::all_reduce_sum(std::span<float> data) {
  const auto host = device_.host_scratch(data.size()).first(data.size());
  device_.to_host(host, data);
  device_.wait(device_.record_own());
  ranks_.all_reduce_sum(host);
  device_.from_host(data, host);
  device_.wait(device_.record_own());
}

void VerifiedExchange::sendrecv(std::span<const float> send, int to, std::span<float> receive,
                                int from) {
  auto mine = std::bit_cast<Words>(device_.check_sum(send));
  Words theirs{};
  inner_->sendrecv(send, to, receive, from);
  ranks_.sendrecv(none_if(send.empty(), mine), to, none_if(receive.empty(), theirs), from);
  const auto sent = std::bit_cast<std::uint64_t>(theirs);
  const std::uint64_t found = device_.check_sum(receive);
  if (found != sent) report(from, receive.size(), sent, found);
}

std::string VerifiedExchange::name_of(int rank) const {
  return fmt::format("rank {} on {}", world_rank(rank), hosts_.at(std::size_t(rank)));
}

void VerifiedExchange::report(int from, std::size_t floats, std::uint64_t sent,
                              std::uint64_t found) const {
  throw RunError(fmt::format(
      "a message of gradients was corrupted on its way from {} to {}: {}, {} floats, check sum "
      "{:016x} where sent and {:016x} where received. Memory, network card or link of one of the "
      "two is faulty: run rueda doctor on these hosts, and look at their ECC and link error "
      "counters (nvidia-smi -q -d ECC, /sys/devices/system/edac, ethtool -S or perfquery)",
      name_of(from), name_of(rank()), position_of(book_->now()), floats, sent, found));
}

void CorruptingExchange::sendrecv(std::span<const float> send, int to, std::span<float> receive,
                                  int from) {
  inner_->sendrecv(send, to, receive, from);
  MessageFault& fault = *fault_;
  if (fault.done || receive.empty() || book_->now().train_step != fault.train_step) return;
  if (fault.messages-- > 0) return;
  fault.done = true;
  corrupt(device_, receive.subspan(receive.size() / 2, 1));
}

}  // namespace rueda
