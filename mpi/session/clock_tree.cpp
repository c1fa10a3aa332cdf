#include "mpi/session/clock_tree.hpp"

#include <array>
#include <bit>
#include <limits>

namespace rueda {
namespace {

/// One may be held up by other programs.
constexpr int kTrips = 4;

/// A moment on rank 0's clock, and by which it is wrong at most.
struct Moment {
  double seconds = 0;
  double error = 0;
};

/// The bits of a moment, in the form that messages carry.
using MomentBits = std::array<float, 4>;

void answer(Communicator& ranks, int peer, const ClockOffset& own,
            const std::function<double()>& now) {
  for (int trip = 0; trip < kTrips; ++trip) {
    MomentBits question{};
    ranks.sendrecv({}, peer, question, peer);
    const auto moment = std::bit_cast<MomentBits>(Moment{now() + own.seconds, own.error});
    ranks.sendrecv(moment, peer, {}, peer);
  }
}

ClockOffset ask(Communicator& ranks, int peer, const std::function<double()>& now) {
  ClockOffset best{0, std::numeric_limits<double>::infinity()};
  for (int trip = 0; trip < kTrips; ++trip) {
    MomentBits words{};
    const double begin = now();
    ranks.sendrecv(words, peer, {}, peer);
    ranks.sendrecv({}, peer, words, peer);
    const double half = (now() - begin) / 2;
    const auto moment = std::bit_cast<Moment>(words);
    const double error = half + moment.error;
    if (error < best.error) best = {moment.seconds - (begin + half), error};
  }
  return best;
}

}  // namespace

ClockOffset compare_clocks(Communicator& ranks, const std::function<double()>& now) {
  ClockOffset own;
  const int rank = ranks.rank();
  const auto size = unsigned(ranks.size());
  for (int distance = int(std::bit_ceil(size) / 2); distance > 0; distance /= 2) {
    const int place = rank % (2 * distance);
    if (place == distance) own = ask(ranks, rank - distance, now);
    if (place == 0 && rank + distance < ranks.size()) answer(ranks, rank + distance, own, now);
  }
  return own;
}

}  // namespace rueda
