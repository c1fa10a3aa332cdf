#include "verified_exchange.hpp"

#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>

#include "rueda/core/error.hpp"

namespace rueda {
namespace {

/// A check sum as it travels.
using Words = std::array<float, 2>;

std::span<float> none_if(bool empty, Words& words) {
  return empty ? std::span<float>{} : std::span<float>(words);
}

std::string hex(std::uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016" PRIx64, value);
  return text.data();
}

/// "step 17, bucket 2, reduce-scatter step 0".
std::string position_of(const ReduceNow& now) {
  const std::string step = now.train_step > 0 ? "step " + std::to_string(now.train_step) +
                                                    ", bucket " + std::to_string(now.bucket) + ", "
                                              : "";
  return step + now.act.phase + " step " + std::to_string(now.act.step);
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

VerifiedExchange::VerifiedExchange(std::unique_ptr<Exchange> moves, Communicator& ranks,
                                   ReduceDevice& device, std::shared_ptr<const ReduceJournal> book)
    : ForwardingExchange(std::move(moves)),
      ranks_(ranks),
      device_(device),
      book_(std::move(book)),
      hosts_(all_gather_text(ranks, ranks.host())) {}

void VerifiedExchange::sendrecv(std::span<const float> send, int to, std::span<float> receive,
                                int from) {
  auto mine = std::bit_cast<Words>(device_.check_sum(send));
  Words theirs{};
  ForwardingExchange::sendrecv(send, to, receive, from);
  ranks_.sendrecv(none_if(send.empty(), mine), to, none_if(receive.empty(), theirs), from);
  const auto sent = std::bit_cast<std::uint64_t>(theirs);
  const std::uint64_t found = device_.check_sum(receive);
  if (found != sent) report(from, receive.size(), sent, found);
}

std::string VerifiedExchange::name_of(int rank) const {
  return "rank " + std::to_string(world_rank(rank)) + " on " +
         hosts_.at(static_cast<std::size_t>(rank));
}

void VerifiedExchange::report(int from, std::size_t floats, std::uint64_t sent,
                              std::uint64_t found) const {
  throw RunError("a message of gradients was corrupted on its way from " + name_of(from) + " to " +
                 name_of(rank()) + ": " + position_of(book_->now()) + ", " +
                 std::to_string(floats) + " floats, check sum " + hex(sent) + " where sent and " +
                 hex(found) +
                 " where received. Memory, network card or link of one of the two is faulty: run "
                 "rueda doctor on these hosts, and look at their ECC and link error counters "
                 "(nvidia-smi -q -d ECC, /sys/devices/system/edac, ethtool -S or perfquery)");
}

void CorruptingExchange::sendrecv(std::span<const float> send, int to, std::span<float> receive,
                                  int from) {
  ForwardingExchange::sendrecv(send, to, receive, from);
  MessageFault& fault = *fault_;
  if (fault.done || receive.empty() || book_->now().train_step != fault.train_step) return;
  if (fault.messages-- > 0) return;
  fault.done = true;
  corrupt(device_, receive.subspan(receive.size() / 2, 1));
}

}  // namespace rueda
