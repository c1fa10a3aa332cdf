#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "outer_exchange.hpp"
#include "rueda/core/error.hpp"

namespace rueda {

/// Every message is followed by its check sum (kernels::message_check), taken
/// by the sender's device before the message leaves and by the receiver's once
/// it is there: so whatever happens to it in between is noticed, copies through
/// host memory included. `sendrecv` throws a RunError at the receiver that
/// names step, sender, receiver, hosts, length and both sums. The sums of
/// all_reduce_sum are MPI's and go unseen.
///
/// A message costs a pass over it on either side and one more of 8 bytes.
class VerifiedExchange final : public OuterExchange {
 public:
  /// Collective over `ranks`.
  using OuterExchange::OuterExchange;

  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override {
    auto mine = std::bit_cast<Words>(device_.check_sum(send));
    Words theirs{};
    inner_->sendrecv(send, to, receive, from);
    ranks_.sendrecv(none_if(send.empty(), mine), to, none_if(receive.empty(), theirs), from);
    const auto sent = std::bit_cast<std::uint64_t>(theirs);
    const std::uint64_t found = device_.check_sum(receive);
    if (found != sent) report(from, receive.size(), sent, found);
  }

 private:
  /// A check sum as it travels.
  using Words = std::array<float, 2>;

  static std::span<float> none_if(bool empty, Words& words) {
    return empty ? std::span<float>{} : std::span<float>(words);
  }
  /// "step 17, bucket 2, reduce-scatter step 0".
  static std::string position_of(const ReduceNow& now) {
    const std::string place = fmt::format("{} step {}", now.act.phase, now.act.step);
    if (now.train_step == 0) return place;
    return fmt::format("step {}, bucket {}, {}", now.train_step, now.bucket, place);
  }
  /// "rank 3 on h1", of rank `rank` of these ranks.
  std::string name_of(int rank) const {
    return fmt::format("rank {} on {}", world_rank(rank), hosts_.at(std::size_t(rank)));
  }
  [[noreturn]] void report(int from, std::size_t floats, std::uint64_t sent,
                           std::uint64_t found) const {
    throw RunError(fmt::format(
        "a message of gradients was corrupted on its way from {} to {}: {}, {} floats, check sum "
        "{:016x} where sent and {:016x} where received. Memory, network card or link of one of the "
        "two is faulty: run rueda doctor on these hosts, and look at their ECC and link error "
        "counters (nvidia-smi -q -d ECC, /sys/devices/system/edac, ethtool -S or perfquery)",
        name_of(from), name_of(rank()), position_of(book_->now()), floats, sent, found));
  }

  std::vector<std::string> hosts_ = all_gather_text(ranks_, ranks_.host());  ///< of each rank
};

}  // namespace rueda
