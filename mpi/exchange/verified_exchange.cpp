#include "mpi/exchange/verified_exchange.hpp"

#include <array>
#include <bit>

#include <fmt/format.h>

#include "base/error.hpp"

namespace rueda {
namespace {

/// A check sum as it travels.
using Words = std::array<float, 2>;

/// The check sum of a message, where there is one.
std::span<float> unless(bool empty, Words& words) {
  if (empty) return {};
  return words;
}

/// "step 17, bucket 2, reduce-scatter step 0".
std::string position_of(const ReduceNow& now) {
  const std::string place = fmt::format("{} step {}", now.act.phase, now.act.step);
  if (now.train_step == 0) return place;
  return fmt::format("step {}, bucket {}, {}", now.train_step, now.bucket, place);
}

}  // namespace

void VerifiedExchange::sendrecv(const Outgoing& send, const Incoming& receive,
                                const ReduceJournal& journal) {
  auto mine = std::bit_cast<Words>(device_.check_sum(send.floats));
  Words theirs{};
  inner_->sendrecv(send, receive, journal);
  inner_->sendrecv_host(unless(send.floats.empty(), mine), send.to,
                        unless(receive.floats.empty(), theirs), receive.from);
  const auto sent = std::bit_cast<std::uint64_t>(theirs);
  const std::uint64_t found = device_.check_sum(receive.floats);
  if (found != sent) report(receive, journal.now(), sent, found);
}

std::string VerifiedExchange::name_of(int rank) const {
  return fmt::format("rank {} on {}", world_rank(rank), hosts_.at(std::size_t(rank)));
}

void VerifiedExchange::report(const Incoming& receive, const ReduceNow& now, std::uint64_t sent,
                              std::uint64_t found) const {
  throw RunError(fmt::format(
      "a message of gradients was corrupted on its way from {} to {}: {}, {} floats, check sum "
      "{:016x} where sent and {:016x} where received. Memory, network card or link of one of the "
      "two is faulty: run rueda doctor on these hosts, and look at their ECC and link error "
      "counters (nvidia-smi -q -d ECC, /sys/devices/system/edac, ethtool -S or perfquery)",
      name_of(receive.from), name_of(rank()), position_of(now), receive.floats.size(), sent,
      found));
}

}  // namespace rueda
