#include "pattern_ring.hpp"

#include <vector>

namespace rueda {
namespace {

constexpr int kRounds = 2;

/// Differs between ranks, rounds and neighbouring elements; whole numbers below 2^24, so exact.
float pattern(int rank, int round, std::size_t i) {
  const auto start =
      static_cast<std::size_t>(rank) * 7919 + static_cast<std::size_t>(round) * 104729;
  return static_cast<float>((start + i) % 16'000'057);
}

PatternResult compare(std::span<const float> got, int sender, int round) {
  PatternResult result{.floats = got.size()};
  for (std::size_t i = got.size(); i-- > 0;) {
    if (got[i] == pattern(sender, round, i)) continue;
    ++result.wrong;
    result.first_wrong = i;
  }
  return result;
}

PatternResult run_round(Communicator& ring, ExchangeBuffer& buffer, std::size_t floats, int round) {
  const int right = (ring.rank() + 1) % ring.size();
  const int left = (ring.rank() + ring.size() - 1) % ring.size();
  std::vector<float> host(floats, -1.0F);
  const auto receive = buffer.receive_side().first(floats);
  const auto send = buffer.send_side().first(floats);
  buffer.upload(receive, host);
  for (std::size_t i = 0; i < floats; ++i) host[i] = pattern(ring.rank(), round, i);
  buffer.upload(send, host);
  ring.sendrecv(send, right, receive, left);
  buffer.download(host, receive);
  return compare(host, left, round);
}

}  // namespace

PatternResult pattern_ring(Communicator& ring, ExchangeBuffer& buffer, std::size_t floats) {
  PatternResult worst;
  for (int round = 0; round < kRounds; ++round) {
    const PatternResult result = run_round(ring, buffer, floats, round);
    if (worst.wrong == 0) worst = result;
  }
  return worst;
}

}  // namespace rueda
