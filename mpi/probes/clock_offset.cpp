#include <array>
#include <bit>
#include <limits>

#include "mpi/session/communicator.hpp"
#include "rueda/core/machine.hpp"

namespace rueda {
namespace {

constexpr int kTrips = 10;

/// A double as the two floats' bits that messages carry.
using Words = std::array<float, 2>;

/// Rank 0's side: answers each message with the time.
void answer(Communicator& ranks, int peer) {
  for (int trip = 0; trip < kTrips; ++trip) {
    Words question{};
    ranks.sendrecv({}, peer, question, peer);
    const auto time = std::bit_cast<Words>(steady_seconds());
    ranks.sendrecv(time, peer, {}, peer);
  }
}

ClockOffset ask(Communicator& ranks) {
  ClockOffset best{0, std::numeric_limits<double>::infinity()};
  for (int trip = 0; trip < kTrips; ++trip) {
    Words answer{};
    const double begin = steady_seconds();
    ranks.sendrecv(answer, 0, {}, 0);
    ranks.sendrecv({}, 0, answer, 0);
    const double end = steady_seconds();
    const double error = (end - begin) / 2;
    if (error < best.error) best = {std::bit_cast<double>(answer) - (begin + error), error};
  }
  return best;
}

}  // namespace

ClockOffset Communicator::clock_offset() {
  if (rank() != 0) return ask(*this);
  for (int peer = 1; peer < size(); ++peer) answer(*this, peer);
  return {};
}

}  // namespace rueda
