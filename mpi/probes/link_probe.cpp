#include "mpi/probes/link_probe.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/statistics.hpp"
#include "mpi/session/communicator.hpp"
#include "mpi/sums/shared_all_reduce.hpp"
#include "reduce/ring_plan.hpp"

namespace rueda {
namespace {

constexpr std::size_t kLargeFloats = kPingPongBytes / sizeof(float);
constexpr int kSmallTrips = 51;
constexpr int kFlagRounds = 50;
constexpr int kLargeTrips = 7;
constexpr int kWarmUpTrips = 2;  // connections are opened, memory is registered

/// One message to `peer` and one back, for the side that begins and for the side that answers.
void round_trip(Communicator& ring, ExchangeBuffer& buffer, std::size_t floats, int peer,
                bool begins) {
  const auto send = buffer.send_side().first(floats);
  const auto receive = buffer.receive_side().first(floats);
  if (begins) ring.sendrecv(send, peer, {}, peer);
  ring.sendrecv({}, peer, receive, peer);
  if (!begins) ring.sendrecv(send, peer, {}, peer);
}

/// Of each trip.
std::vector<double> trip_seconds(int trips, const std::function<void()>& trip) {
  std::vector<double> seconds(std::size_t(trips), 0.0);
  for (int i = 0; i < kWarmUpTrips; ++i) trip();
  for (double& one : seconds) {
    const Stopwatch watch;
    trip();
    one = watch.seconds();
  }
  return seconds;
}

/// By the seconds that 4 bytes and kPingPongBytes take.
LinkSpeed speed(double small, double large) {
  return {.latency_us = small * 1e6, .gb_per_second = double(kPingPongBytes) / 1e9 / large};
}

LinkSpeed measure(Communicator& ring, ExchangeBuffer& buffer, int peer, bool begins) {
  const auto small = [&] { round_trip(ring, buffer, 1, peer, begins); };
  const auto large = [&] { round_trip(ring, buffer, kLargeFloats, peer, begins); };
  const double small_seconds = median_of(trip_seconds(kSmallTrips, small));
  return speed(small_seconds / 2, median_of(trip_seconds(kLargeTrips, large)) / 2);
}

/// When a rank begins with its right neighbour: even ones first, then odd ones;
/// the last of an odd number by itself, for its neighbours on both sides are
/// even.
int turn_of(int rank, int size) {
  if (size % 2 == 1 && rank == size - 1) return 2;
  return rank % 2;
}

constexpr int kRounds = 2;

/// Differs between ranks, rounds and neighbouring elements; whole numbers below 2^24, so exact.
float pattern(int rank, int round, std::size_t i) {
  const auto start = std::size_t(rank) * 7919 + std::size_t(round) * 104729;
  return float((start + i) % 16'000'057);
}

PatternResult run_round(Communicator& ring, ExchangeBuffer& buffer, std::size_t floats, int round) {
  const RingPlan plan{floats, ring.rank(), ring.size()};
  std::vector<float> host(floats, -1.0F);
  const auto receive = buffer.receive_side().first(floats);
  const auto send = buffer.send_side().first(floats);
  buffer.copy(receive, host);
  for (std::size_t i = 0; i < floats; ++i) host[i] = pattern(ring.rank(), round, i);
  buffer.copy(send, host);
  ring.sendrecv(send, plan.right(), receive, plan.left());
  buffer.copy(host, receive);
  PatternResult result{.floats = floats};
  for (std::size_t i = floats; i-- > 0;) {
    if (host[i] == pattern(plan.left(), round, i)) continue;
    ++result.wrong;
    result.first_wrong = i;
  }
  return result;
}

}  // namespace

LinkSpeed ping_pong(Communicator& ring, ExchangeBuffer& buffer) {
  LinkSpeed mine;
  if (ring.size() == 1) return mine;
  const RingPlan plan{0, ring.rank(), ring.size()};
  for (int turn = 0; turn < 3; ++turn) {
    ring.barrier();
    if (turn_of(ring.rank(), ring.size()) == turn)
      mine = measure(ring, buffer, plan.right(), true);
    else if (turn_of(plan.left(), ring.size()) == turn)
      measure(ring, buffer, plan.left(), false);
  }
  return mine;
}

// The least of many rounds' means: a busy core makes others longer.
LinkSpeed memory_speed(const Communicator& host, ExchangeBuffer& buffer) try {
  if (host.size() == 1) return {};
  const SharedWindow window(host, 0);
  const int left = RingPlan{0, host.rank(), host.size()}.left();
  std::uint32_t round = 0;
  const auto go_round = [&] {
    for (int i = 0; i < kFlagRounds; ++i) {
      window.flag(host.rank()).raise(++round);
      window.flag(left).await(round);
    }
  };
  const auto copy = [&] { std::ranges::copy(buffer.send_side(), buffer.receive_side().begin()); };
  return speed(std::ranges::min(trip_seconds(kSmallTrips, go_round)) / kFlagRounds,
               median_of(trip_seconds(kLargeTrips, copy)));
} catch (const RunError&) {
  return {};
}

double two_copies_speed(Communicator& ring, ExchangeBuffer& buffer) {
  std::vector<float> host(kLargeFloats);
  const auto down_and_up = [&] {
    buffer.copy(host, buffer.send_side().first(kLargeFloats));
    buffer.copy(buffer.receive_side().first(kLargeFloats), host);
  };
  ring.barrier();
  return speed(0, median_of(trip_seconds(kLargeTrips, down_and_up))).gb_per_second;
}

PatternResult pattern_ring(Communicator& ring, ExchangeBuffer& buffer, std::size_t floats) {
  PatternResult worst;
  for (int round = 0; round < kRounds; ++round) {
    const PatternResult result = run_round(ring, buffer, floats, round);
    if (worst.wrong == 0) worst = result;
  }
  return worst;
}

}  // namespace rueda
