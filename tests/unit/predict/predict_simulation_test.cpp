#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "predict/all_reduce_cost.hpp"
#include "predict/ring_simulation.hpp"

using namespace rueda::predict;
using Catch::Detail::Approx;

namespace {

/// Mean over `times` seeds of a ring of messages of 1 s.
double mean_of(std::size_t ranks, double noise, int times) {
  double sum = 0;
  for (int seed = 1; seed <= times; ++seed) {
    sum += simulate_ring({ranks, 1, 0, noise, static_cast<std::uint64_t>(seed)});
  }
  return sum / times;
}

}  // namespace

TEST_CASE("without noise the simulated ring is the closed form", "[predict]") {
  for (const std::size_t ranks : {1, 2, 3, 8, 100, 4096}) {
    const Machine machine{{}, {50e-6, 8e-9}, 1e-10, 1, 1};
    const double chunk = 1e8 / static_cast<double>(ranks);
    const double simulated =
        simulate_ring({ranks, machine.between.message_seconds(chunk), chunk * machine.gamma});
    CHECK(simulated == Approx(ring_seconds(machine, ranks, 1e8)).epsilon(1e-10));
  }
}

TEST_CASE("two ranks with exponential messages", "[predict]") {
  // Each of the two steps ends with the later of two messages: 1 + 1/2 in the mean.
  CHECK(mean_of(2, 1, 100'000) == Approx(3).epsilon(0.01));
  // Noise of a half: half of each message is sure.
  CHECK(mean_of(2, 0.5, 100'000) == Approx(2.5).epsilon(0.01));
}

TEST_CASE("more ranks with exponential messages", "[predict]") {
  // Means over 20,000, 2,000 and 120 rings of a program in Python that keeps no table of values:
  // 1.812 +- 0.003, 2.006 +- 0.003 and 2.034 +- 0.004 times the ring without noise.
  CHECK(mean_of(4, 1, 20'000) / 6 == Approx(1.812).epsilon(0.01));
  CHECK(mean_of(16, 1, 2'000) / 30 == Approx(2.006).epsilon(0.01));
  CHECK(mean_of(64, 1, 200) / 126 == Approx(2.034).epsilon(0.015));
}

TEST_CASE("a large noisy ring takes 1 + noise times as long", "[predict]") {
  CHECK(simulate_ring({4096, 1, 0, 1, 3}) / 8190 == Approx(2).epsilon(0.02));
  CHECK(simulate_ring({4096, 1, 0, 0.25, 3}) / 8190 == Approx(1.25).epsilon(0.02));
}

TEST_CASE("additions are not noisy", "[predict]") {
  const double without = simulate_ring({8, 1, 0, 0.5, 9});
  CHECK(simulate_ring({8, 1, 2, 0.5, 9}) == Approx(without + 7 * 2));
}

TEST_CASE("the same seed, the same ring", "[predict]") {
  CHECK(simulate_ring({100, 1, 0, 0.5, 1}) == simulate_ring({100, 1, 0, 0.5, 1}));
  CHECK(simulate_ring({100, 1, 0, 0.5, 1}) != simulate_ring({100, 1, 0, 0.5, 2}));
}
