#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "reduce/cost_model.hpp"
#include "run/wiring/reduce_rule.hpp"
#include "tests/simulation/virtual_job.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

/// One rank a host: 20 us and 12 GB/s between them, additions at 20 GB/s.
cost::Machine hosts() { return {{0, 0}, {20e-6, 1 / 12e9}, 1 / 20e9, 1, 1}; }
/// Hosts of eight ranks.
cost::Machine nodes(std::size_t links) {
  return {{1e-6, 1 / 50e9}, {20e-6, 1 / 12e9}, 1 / 20e9, 8, links};
}

double seconds(const cost::Machine& machine, int ranks, Algorithm algorithm, std::size_t bytes) {
  return VirtualJob({machine, ranks}).sum({algorithm, 0}, bytes).seconds;
}

}  // namespace

TEST_CASE("virtual ranks meet in virtual time", "[simulation]") {
  VirtualCluster cluster(3);
  std::vector<double> ended(3);
  cluster.run([&](int rank) {
    if (rank == 2) cluster.park();
    cluster.work(rank + 1.0);
    if (rank == 1) cluster.wake(2, cluster.now());
    ended[std::size_t(rank)] = cluster.now();
  });
  CHECK(ended == std::vector<double>{1, 2, 5});
  CHECK_THROWS_AS(cluster.run([&](int rank) {
    if (rank == 1) cluster.park();
  }),
                  RunError);
  CHECK_THROWS_WITH(cluster.run([](int rank) {
    if (rank == 1) throw std::runtime_error("here");
  }),
                    "here");
}

TEST_CASE("simulated sums cost what the formulas say", "[simulation]") {
  const int ranks = GENERATE(1, 2, 3, 5, 8, 64, 100);
  const std::size_t bytes = GENERATE(4 * std::size_t{6400}, 45 * kMiB);
  CAPTURE(ranks, bytes);
  const auto size = double(bytes);
  CHECK(seconds(hosts(), ranks, Algorithm::ring, bytes) ==
        Approx(cost::ring_seconds(hosts(), std::size_t(ranks), size)).epsilon(0.01));
  CHECK(seconds(hosts(), ranks, Algorithm::doubling, bytes) ==
        Approx(cost::doubling_seconds(hosts(), std::size_t(ranks), size)).epsilon(0.01));
  CHECK(seconds(hosts(), ranks, Algorithm::halving, bytes) ==
        Approx(cost::halving_seconds(hosts(), std::size_t(ranks), size)).epsilon(0.01));
}

TEST_CASE("simulated sums over hosts of several ranks", "[simulation]") {
  const std::size_t ranks = GENERATE(8, 16, 64);
  const std::size_t bytes = GENERATE(1 * kMiB, 64 * kMiB);
  CAPTURE(ranks, bytes);
  const auto size = double(bytes);
  CHECK(seconds(nodes(2), int(ranks), Algorithm::ring, bytes) ==
        Approx(cost::ring_seconds(nodes(2), ranks, size)).epsilon(0.01));
  CHECK(seconds(nodes(8), int(ranks), Algorithm::hierarchical, bytes) ==
        Approx(cost::hierarchical_seconds(nodes(8), ranks, size)).epsilon(0.01));
  CHECK(seconds(nodes(8), int(ranks), Algorithm::halving, bytes) ==
        Approx(cost::halving_seconds(nodes(8), ranks, size)).epsilon(0.01));
  CHECK(seconds(nodes(8), int(ranks), Algorithm::hierarchical_halving, bytes) ==
        Approx(cost::hierarchical_halving_seconds(nodes(8), ranks, size)).epsilon(0.01));
  // The formula lets all messages of a host share its links to the end. Here they go one after
  // another, so that the start-up of one hides behind the bytes of the next.
  const double shared = seconds(nodes(2), int(ranks), Algorithm::hierarchical, bytes);
  CHECK(shared <= cost::hierarchical_seconds(nodes(2), ranks, size) * 1.01);
  CHECK(shared >= cost::hierarchical_seconds(nodes(8), ranks, size));
}

TEST_CASE("auto takes a sum that is within 10 % of the best one", "[simulation]") {
  const int local = GENERATE(1, 6, 8);
  const int ranks = local * GENERATE(1, 2, 4, 5, 16);
  const ReduceSituation here{.ranks = ranks, .hosts = ranks / local, .most_on_a_host = local};
  cost::Machine machine = nodes(std::size_t(local));
  machine.ranks_per_node = std::size_t(local);
  const ReduceTable table = reduce_rule(here, machine);
  for (std::size_t bytes = 256; bytes <= 64 * kMiB; bytes *= 8) {
    double best = std::numeric_limits<double>::infinity();
    for (const Algorithm algorithm : auto_candidates(here))
      best = std::min(best, seconds(machine, ranks, algorithm, bytes));
    const Algorithm taken = table.way(bytes).algorithm;
    CAPTURE(local, ranks, bytes, to_string(taken));
    CHECK(seconds(machine, ranks, taken, bytes) <= 1.1 * best);
  }
}

TEST_CASE("a simulated step hides sums behind backward as the forecast says", "[simulation]") {
  const bool overlap = GENERATE(false, true);
  VirtualStep step{.buckets = {{32e6, 0.4}, {16e6, 0.9}, {400e3, 1}},
                   .forward = 5e-3,
                   .backward = 10e-3,
                   .update = 1e-3,
                   .overlap = overlap};
  const ReduceTable table{.rows = {{100 * 1024, {Algorithm::doubling, 0}}, {}}};
  std::vector<double> sums;
  for (const auto& bucket : step.buckets)
    sums.push_back(seconds(nodes(2), 16, Algorithm::ring, std::size_t(bucket.bytes)));
  const double ended = cost::run_buckets(step.buckets, sums, step.backward, overlap).ended;
  VirtualJob job({nodes(2), 16});
  CHECK(job.step(table, step).seconds ==
        Approx(step.forward + std::max(ended, step.backward) + step.update));
  // All wait for one that computes half as fast, however little they have to send.
  step.factors.assign(16, 1);
  step.factors[5] = 2;
  CHECK(job.step(table, step).seconds >= 2 * (step.forward + step.backward) + step.update);
}

TEST_CASE("what is simulated is rueda's own message for message", "[simulation]") {
  VirtualJob job({hosts(), 8});
  CHECK(job.sum({Algorithm::ring, 0}, kMiB).messages == 14);
  CHECK(job.sum({Algorithm::ring, 0}, kMiB).bytes == Approx(14.0 / 8 * kMiB));
  CHECK(job.sum({Algorithm::ring, kMiB / 16}, kMiB).messages == 21);  // segments on the way there
  CHECK(job.sum({Algorithm::doubling, 0}, kMiB).messages == 3);
  CHECK(job.sum({Algorithm::doubling, 0}, kMiB).bytes == 3 * kMiB);
  CHECK(job.sum({Algorithm::halving, 0}, kMiB).messages == 6);
  CHECK(job.sum({Algorithm::halving, 0}, kMiB).bytes == Approx(14.0 / 8 * kMiB));
  CHECK_THROWS_WITH(job.sum({Algorithm::mpi, 0}, kMiB), Catch::Contains("is not simulated"));
}
