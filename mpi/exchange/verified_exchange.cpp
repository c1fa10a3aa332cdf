#include "mpi/exchange/verified_exchange.hpp"

#include <array>
#include <bit>

#include <fmt/format.h>

#include "base/error.hpp"

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

}  // namespace

void VerifiedExchange::sendrecv(std::span<const float> send, int to, std::span<float> receive,
                                int from) {
  auto mine = std::bit_cast<Words>(device_.check_sum(send));
  Words theirs{};
  inner_->sendrecv(send, to, receive, from);
  inner_->sendrecv_host(none_if(send.empty(), mine), to, none_if(receive.empty(), theirs), from);
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

}  // namespace rueda
