#include "corrupting_exchange.hpp"

#include <bit>
#include <cstdint>

namespace rueda {
namespace {

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

void CorruptingExchange::sendrecv(std::span<const float> send, int to, std::span<float> receive,
                                  int from) {
  moves_->sendrecv(send, to, receive, from);
  MessageFault& fault = *fault_;
  if (fault.done || receive.empty() || book_->now().train_step != fault.train_step) return;
  if (fault.messages-- > 0) return;
  fault.done = true;
  corrupt(device_, receive.subspan(receive.size() / 2, 1));
}

}  // namespace rueda
