#include "reduce/cost_model.hpp"

#include <catch2/catch.hpp>

#include "commands/bench/bench.hpp"

using namespace rueda;
using namespace rueda::cost;

namespace {

constexpr double kAlpha = 50e-6;
constexpr double kBeta = 8e-9;  // 125 MB/s
constexpr double kGamma = 1e-10;

/// One level, as on hosts of one rank.
Machine flat(double alpha = kAlpha, double beta = kBeta, double gamma = kGamma) {
  return {{0, 0}, {alpha, beta}, gamma, 1, 1};
}

/// Nodes of four, ten times as fast inside.
Machine nodes(std::size_t links) { return {{5e-6, 0.8e-9}, {kAlpha, kBeta}, kGamma, 4, links}; }

/// Each step of a schedule lasts as long as its longest message and, if it is added, its addition.
double seconds_of(const bench::Schedule& schedule, const Link& link, double gamma) {
  double sum = 0;
  for (const bench::Step& step : schedule.steps) {
    double longest = 0;
    for (const bench::Message& m : step.messages) {
      const double bytes = 4.0 * double(schedule.floats(m.chunks));
      longest = std::max(longest, link.message_seconds(bytes) + (m.adds ? bytes * gamma : 0));
    }
    sum += longest;
  }
  return sum;
}

/// Mean over `times` seeds of a ring of messages of 1 s.
double mean_of(std::size_t ranks, double noise, int times) {
  double sum = 0;
  for (int seed = 1; seed <= times; ++seed)
    sum += simulate_ring({ranks, 1, 0, noise, std::uint64_t(seed)});
  return sum / times;
}

TEST_CASE("the ring costs what its schedule says", "[cost]") {
  for (const int ranks : {2, 3, 4, 7, 16}) {
    const auto schedule = bench::schedule_of(Algorithm::ring, ranks, std::size_t(ranks) * 1000);
    const double expected = seconds_of(schedule, {kAlpha, kBeta}, kGamma);
    CHECK(ring_seconds(flat(), ranks, ranks * 4000.0) == Approx(expected));
  }
}

TEST_CASE("the ring and the hierarchical sum by hand", "[cost]") {
  // P = 4, 100 MB: 6 messages of 25 MB at 125 MB/s, 3 additions of 25 MB at 10 GB/s.
  CHECK(ring_seconds(flat(), 4, 100e6) == Approx(6 * 50e-6 + 6 * 0.2 + 3 * 0.0025));
  CHECK(ring_seconds(flat(), 1, 100e6) == 0);
  // Over nodes it goes as fast as its slowest link.
  CHECK(ring_seconds(nodes(1), 4, 100e6) == Approx(6 * (5e-6 + 0.02) + 3 * 0.0025));  // one node
  CHECK(ring_seconds(nodes(1), 8, 80e6) == Approx(14 * (50e-6 + 0.08) + 7 * 0.001));
  Machine slow_inside = nodes(1);
  std::swap(slow_inside.inside, slow_inside.between);
  CHECK(ring_seconds(slow_inside, 8, 80e6) == Approx(14 * (50e-6 + 0.08) + 7 * 0.001));
  // 2 nodes of 4, 80 MB: inside 3 + 3 messages of 20 MB at 1.25 GB/s, 3 additions; between nodes 2
  // messages of 10 MB and one addition; with one link all four ranks of a node share 125 MB/s.
  const double inside = 6 * (5e-6 + 0.016) + 3 * 0.002;
  CHECK(hierarchical_seconds(nodes(1), 8, 80e6) == Approx(inside + 2 * (50e-6 + 0.08 * 4) + 0.001));
  CHECK(hierarchical_seconds(nodes(2), 8, 80e6) == Approx(inside + 2 * (50e-6 + 0.08 * 2) + 0.001));
  CHECK(hierarchical_seconds(nodes(4), 8, 80e6) == Approx(inside + 2 * (50e-6 + 0.08) + 0.001));
  CHECK(hierarchical_seconds(nodes(9), 8, 80e6) == hierarchical_seconds(nodes(4), 8, 80e6));
}

TEST_CASE("a ring in segments by hand", "[cost]") {
  // P = 4, 100 MB in chunks of 25 MB: an addition takes 2.5 ms, half of one 1.25 ms.
  const double whole = 50e-6 + 0.2;
  const double half = 50e-6 + 0.1;
  CHECK(segmented_ring_seconds(flat(), 4, 100e6, 1) == ring_seconds(flat(), 4, 100e6));
  CHECK(segmented_ring_seconds(flat(), 4, 100e6, 2) == Approx(6 * half + 0.00125 + 3 * whole));
  // Additions at 10 MB/s keep the messages waiting.
  const Machine adds_slowly = flat(kAlpha, kBeta, 1e-7);
  CHECK(segmented_ring_seconds(adds_slowly, 4, 100e6, 2) == Approx(half + 6 * 1.25 + 3 * whole));
  CHECK(segmented_ring_seconds(flat(), 1, 100e6, 2) == 0);
}

TEST_CASE("segments are worth their messages from the length that is named", "[cost]") {
  for (const std::size_t ranks : {2, 3, 4, 8, 64}) {
    const std::size_t segment = best_segment_bytes(flat(), ranks);
    const auto in_pieces = [&](std::size_t chunk, std::size_t pieces) {
      return segmented_ring_seconds(flat(), ranks, double(chunk * ranks), pieces);
    };
    CAPTURE(ranks, segment);
    CHECK(in_pieces(segment, 2) < in_pieces(segment, 1));
    CHECK(in_pieces(segment / 2, 2) >= in_pieces(segment / 2, 1));
  }
  CHECK(best_segment_bytes(flat(kAlpha, kBeta, 0), 4) == 0);  // there is nothing to hide
  CHECK(best_segment_bytes(flat(), 1) == 0);
}

TEST_CASE("on one level the hierarchical sum is the ring", "[cost]") {
  for (const std::size_t ranks : {1, 2, 3, 4}) {
    CHECK(hierarchical_seconds(nodes(1), ranks, 1e6) == ring_seconds(nodes(1), ranks, 1e6));
    CHECK(hierarchical_seconds(flat(), ranks, 1e6) == ring_seconds(flat(), ranks, 1e6));
  }
}

TEST_CASE("doubling has as many rounds as the real one, and by hand", "[cost]") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    CAPTURE(ranks);
    const auto schedule = bench::schedule_of(Algorithm::doubling, ranks, 8);
    CHECK(doubling_seconds(flat(1, 0, 0), ranks, 1) == double(schedule.steps.size()));
  }
  CHECK(doubling_seconds(flat(), 8, 1e6) == Approx(3 * (50e-6 + 0.008 + 1e-4)));
  // 5 = 4 + 1: two rounds among four, one with the fifth, two to copy it to the other three.
  CHECK(doubling_seconds(flat(), 5, 1e6) ==
        Approx(3 * (50e-6 + 0.008 + 1e-4) + 2 * (50e-6 + 0.008)));
  // 2 nodes of 4: two rounds inside, then all four ranks of a node over its one link.
  CHECK(doubling_seconds(nodes(1), 8, 1e6) ==
        Approx(2 * (5e-6 + 0.8e-3 + 1e-4) + 50e-6 + 0.032 + 1e-4));
}

TEST_CASE("halving costs what its schedule says, and by hand", "[cost]") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    CAPTURE(ranks);
    const auto schedule = bench::schedule_of(Algorithm::halving, ranks, 1600);
    CHECK(halving_seconds(flat(), ranks, 6400) ==
          Approx(seconds_of(schedule, {kAlpha, kBeta}, kGamma)));
  }
  // 2 log2 P messages; as many bytes and additions as the ring.
  CHECK(halving_seconds(flat(), 8, 8e6) == Approx(6 * 50e-6 + 2 * 7e6 * kBeta + 7e6 * kGamma));
  // 6 = 4 + 2: twice the whole slice for the fold, then four ranks.
  CHECK(halving_seconds(flat(), 6, 8e6) == Approx(2 * (50e-6 + 8e6 * kBeta) + 8e6 * kGamma +
                                                  4 * 50e-6 + 2 * 6e6 * kBeta + 6e6 * kGamma));
  // 2 nodes of 4: halves and quarters stay inside; four ranks a node share its link for an eighth.
  const double inside = 4 * 5e-6 + 2 * 6e6 * 0.8e-9;
  CHECK(halving_seconds(nodes(1), 8, 8e6) ==
        Approx(inside + 2 * (50e-6 + 4e6 * kBeta) + 7e6 * kGamma));
}

TEST_CASE("blocks that lie on two nodes talk between them", "[cost]") {
  // Nodes of six: blocks of two are inside, some of four are not, and eight are more than a node.
  Machine sixes = nodes(6);
  sixes.ranks_per_node = 6;
  CHECK(doubling_seconds(sixes, 16, 1000) == Approx(5e-6 + 0.8e-6 + 3 * (50e-6 + 8e-6) + 4 * 1e-7));
  // All on one node.
  sixes.ranks_per_node = 16;
  CHECK(doubling_seconds(sixes, 16, 1000) == Approx(4 * (5e-6 + 0.8e-6 + 1e-7)));
  sixes.ranks_per_node = 5;
  CHECK(doubling_seconds(sixes, 5, 1000) == Approx(5 * (5e-6 + 0.8e-6) + 3 * 1e-7));
}

TEST_CASE("hosts of several ranks that sum by halving", "[cost]") {
  // 16 nodes of 4, 64 MB: 3 + 3 messages of 16 MB inside; then 16 nodes on a shard.
  const double inside = 6 * (5e-6 + 16e6 * 0.8e-9) + 3 * 16e6 * kGamma;
  CHECK(hierarchical_halving_seconds(nodes(4), 64, 64e6) ==
        Approx(inside + halving_seconds(flat(), 16, 16e6)));
  CHECK(hierarchical_halving_seconds(nodes(1), 64, 64e6) ==
        Approx(inside + halving_seconds(flat(kAlpha, 4 * kBeta), 16, 16e6)));
  // On one host there is no other host, and with one rank each nothing inside.
  CHECK(hierarchical_halving_seconds(nodes(1), 4, 1e6) == ring_seconds(nodes(1), 4, 1e6));
  CHECK(hierarchical_halving_seconds(flat(), 8, 1e6) == halving_seconds(flat(), 8, 1e6));
}

TEST_CASE("best is the least of all", "[cost]") {
  const auto best = [](std::size_t links, std::size_t ranks, double bytes) {
    return all_reduce_seconds(Scheme::best, nodes(links), ranks, bytes);
  };
  CHECK(best(4, 64, 4) == doubling_seconds(nodes(4), 64, 4));
  CHECK(best(4, 64, 1e9) == halving_seconds(nodes(4), 64, 1e9));
  CHECK(best(4, 96, 1e9) == hierarchical_seconds(nodes(4), 96, 1e9));  // halving would fold
  CHECK(best(4, 96, 1e5) == hierarchical_halving_seconds(nodes(4), 96, 1e5));
  // Over one link a node has to send as much either way, and inside the ring has nothing to add.
  CHECK(best(1, 64, 1e9) == ring_seconds(nodes(1), 64, 1e9));
  CHECK(best(4, 64, 4) < ring_seconds(nodes(4), 64, 4));
}

TEST_CASE("no sum is quicker with more ranks, more bytes or slower links", "[cost]") {
  for (const Scheme scheme : {Scheme::ring, Scheme::hierarchical, Scheme::doubling, Scheme::halving,
                              Scheme::hierarchical_halving, Scheme::best}) {
    const auto seconds = [&](std::size_t ranks, double bytes, double slower = 1) {
      Machine machine = nodes(1);
      machine.between.beta *= slower;
      machine.between.alpha *= slower;
      return all_reduce_seconds(scheme, machine, ranks, bytes);
    };
    CAPTURE(to_string(scheme));
    for (std::size_t ranks = 4; ranks < 16'384; ranks *= 2) {
      CHECK(seconds(ranks, 1e8) < seconds(2 * ranks, 1e8));
      CHECK(seconds(ranks, 1e7) < seconds(ranks, 1e8));
      if (ranks > 4) CHECK(seconds(ranks, 1e8) < seconds(ranks, 1e8, 2));
    }
  }
}

TEST_CASE("without noise the simulated ring is the closed form", "[cost]") {
  for (const std::size_t ranks : {1, 2, 3, 8, 100, 4096}) {
    const Machine machine{{}, {50e-6, 8e-9}, 1e-10, 1, 1};
    const double chunk = 1e8 / double(ranks);
    const double simulated =
        simulate_ring({ranks, machine.between.message_seconds(chunk), chunk * machine.gamma});
    CHECK(simulated == Approx(ring_seconds(machine, ranks, 1e8)).epsilon(1e-10));
  }
}

TEST_CASE("rings of noisy messages", "[cost]") {
  struct Case {
    std::size_t ranks;
    double noise;
    int rings;
    double ratio;  ///< to the ring without noise
  };
  for (const Case& c :
       {// Each of the two steps of two ranks ends with the later of two messages: 1 + 1/2 in the
        // mean. Noise of a half: half of each message is sure.
        Case{2, 1, 20'000, 1.5}, Case{2, 0.5, 20'000, 1.25},
        // Means over 20,000, 2,000 and 120 rings of a program in Python that keeps no table of
        // values: 1.812 +- 0.003, 2.006 +- 0.003 and 2.034 +- 0.004.
        Case{4, 1, 5'000, 1.812}, Case{16, 1, 1'000, 2.006}, Case{64, 1, 200, 2.034},
        // For many ranks 1 + noise.
        Case{4096, 1, 1, 2}, Case{4096, 0.25, 1, 1.25}}) {
    CAPTURE(c.ranks, c.noise);
    const double messages = 2 * double(c.ranks - 1);
    CHECK(mean_of(c.ranks, c.noise, c.rings) / messages == Approx(c.ratio).epsilon(0.02));
  }
  CHECK(simulate_ring({100, 1, 0, 0.5, 1}) == simulate_ring({100, 1, 0, 0.5, 1}));
  CHECK(simulate_ring({100, 1, 0, 0.5, 1}) != simulate_ring({100, 1, 0, 0.5, 2}));
  // Additions are not noisy.
  const double without = simulate_ring({8, 1, 0, 0.5, 9});
  CHECK(simulate_ring({8, 1, 2, 0.5, 9}) == Approx(without + 7 * 2));
}

TEST_CASE("a link that goes through two sums", "[cost]") {
  // By hand: 2 ms and 1 ns a byte.
  const Link link = link_through({1e6, 0.003}, {4e6, 0.006});
  CHECK(link.alpha == Approx(2e-3));
  CHECK(link.beta == Approx(1e-9));
  // No cost is negative: one that grows faster than its bytes, one that shrinks, one length alone.
  const Link grows = link_through({1e6, 0.001}, {4e6, 0.008});
  CHECK(grows.alpha == 0);
  CHECK(grows.beta == Approx(2e-9));
  const Link shrinks = link_through({1e6, 0.004}, {4e6, 0.003});
  CHECK(shrinks.alpha == Approx(0.003));
  CHECK(shrinks.beta == 0);
  const Link single = link_through({1e6, 0.004}, {1e6, 0.003});
  CHECK(single.alpha == 0);
  CHECK(single.beta == Approx(3e-9));
}

TEST_CASE("a link whose long messages have another slope", "[cost]") {
  // By hand: 2 ms and 1 ns a byte up to 4 MB, beyond that half a ns.
  const Link link = link_through({1e6, 0.003}, {4e6, 0.006}, {10e6, 0.009});
  CHECK(link.message_seconds(2e6) == Approx(0.004));
  CHECK(link.message_seconds(4e6) == Approx(0.006));
  CHECK(link.message_seconds(6e6) == Approx(0.007));
  for (const double bytes : {1e6, 4e6, 6e6})
    CHECK(link.bytes_within(link.message_seconds(bytes)) == Approx(bytes));
  CHECK(link.bytes_within(0.001) == 0);
  // Three messages at the same time are one of three times the bytes; half a message is one.
  CHECK(link.shared_by(3).message_seconds(2e6) == Approx(0.007));
  CHECK(link.shared_by(0.5).message_seconds(2e6) == Approx(0.004));
  // Straight where the longest one took no longer.
  const Link straight = link_through({1e6, 0.003}, {4e6, 0.006}, {10e6, 0.006});
  CHECK(straight.message_seconds(10e6) == Approx(0.012));
  CHECK(straight.bytes_within(0.012) == Approx(10e6));
}

TEST_CASE("a link whose short messages have a line of their own", "[cost]") {
  // By hand: 2 us and 2 ns a byte below 1 kB, then 5 us and 3 ns up to 4 kB, 1 ns beyond.
  const Link link = Link{5e-6, 3e-9, 4e3, 1e-9}.with_short(1e3, {2e-6, 2e-9});
  const std::vector<TimedSum> messages{{0, 2e-6},    {500, 3e-6},  {999, 3.998e-6}, {1e3, 8e-6},
                                       {2e3, 11e-6}, {4e3, 17e-6}, {6e3, 19e-6}};
  for (const auto& [bytes, seconds] : messages) {
    CHECK(link.message_seconds(bytes) == Approx(seconds));
    CHECK(link.bytes_within(seconds) == Approx(bytes));
  }
  CHECK(link.bytes_within(1e-6) == 0);
  CHECK(link.bytes_within(6e-6) == Approx(1e3));  // the longest that does not ask
  // Twice the bytes at the same time: each message is as long as before.
  CHECK(link.shared_by(2).message_seconds(500) == Approx(4e-6));
  CHECK(link.shared_by(2).message_seconds(1e3) == Approx(11e-6));
  CHECK(link.shared_by(8).message_seconds(1e3) == Approx(5e-6 + 12e-6 + 4e-6));
  CHECK(link.slower_beyond(3).message_seconds(500) == Approx(3e-6));
  CHECK(link.slower_beyond(3).message_seconds(6e3) == Approx(23e-6));
  CHECK(link.later_by(1e-6).message_seconds(500) == Approx(4e-6));
  CHECK(link.later_by(1e-6).message_seconds(2e3) == Approx(12e-6));
}

TEST_CASE("nodes that exchange in pairs take longer by a factor of the bytes of long messages",
          "[cost]") {
  Machine machine{.inside = {1e-6, 1e-10}, .between = {1e-5, 1e-8, 5e4, 2e-8}, .gamma = 0};
  machine.ranks_per_node = 2;
  Machine slower = machine;
  slower.pair_factor = 1.5;
  Machine thinner = machine;
  thinner.between.beta_beyond *= 1.5;
  CHECK(slower.between.slower_beyond(1.5).message_seconds(1e5) == Approx(1e-5 + 5e-4 + 1.5e-3));
  CHECK(ring_seconds(slower, 8, 16e6) == Approx(ring_seconds(machine, 8, 16e6)));
  CHECK(hierarchical_seconds(slower, 8, 16e6) == Approx(hierarchical_seconds(machine, 8, 16e6)));
  CHECK(doubling_seconds(slower, 8, 16e6) == Approx(doubling_seconds(thinner, 8, 16e6)));
  CHECK(halving_seconds(slower, 8, 16e6) == Approx(halving_seconds(thinner, 8, 16e6)));
  CHECK(hierarchical_halving_seconds(slower, 8, 16e6) ==
        Approx(hierarchical_halving_seconds(thinner, 8, 16e6)));
  CHECK(doubling_seconds(slower, 8, 16e6) > 1.2 * doubling_seconds(machine, 8, 16e6));
  CHECK(doubling_seconds(slower, 8, 1e6) == Approx(doubling_seconds(machine, 8, 1e6)));
}

}  // namespace
