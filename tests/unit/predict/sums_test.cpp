#include <catch2/catch.hpp>

#include "commands/bench/bench.hpp"
#include "predict/forecast.hpp"
#include "predict/predict.hpp"
#include "tests/support/data_files.hpp"

using namespace rueda;
using namespace rueda::predict;
using Catch::Contains;
using test::refusal;

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
      const double bytes = 4.0 * double(schedule.chunks.at(m.chunk).size());
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

TEST_CASE("the ring costs what its schedule says", "[predict]") {
  for (const int ranks : {2, 3, 4, 7, 16}) {
    const auto schedule = bench::schedule_of(Algorithm::ring, ranks, std::size_t(ranks) * 1000);
    const double expected = seconds_of(schedule, {kAlpha, kBeta}, kGamma);
    CHECK(ring_seconds(flat(), ranks, ranks * 4000.0) == Approx(expected));
  }
}

TEST_CASE("the ring and the hierarchical sum by hand", "[predict]") {
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

TEST_CASE("a ring in segments by hand", "[predict]") {
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

TEST_CASE("segments are worth their messages from the length that is named", "[predict]") {
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

TEST_CASE("on one level the hierarchical sum is the ring", "[predict]") {
  for (const std::size_t ranks : {1, 2, 3, 4}) {
    CHECK(hierarchical_seconds(nodes(1), ranks, 1e6) == ring_seconds(nodes(1), ranks, 1e6));
    CHECK(hierarchical_seconds(flat(), ranks, 1e6) == ring_seconds(flat(), ranks, 1e6));
  }
}

TEST_CASE("doubling has as many rounds as the real one, and by hand", "[predict]") {
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

TEST_CASE("best is the least of the three", "[predict]") {
  const auto best = [](std::size_t links, std::size_t ranks, double bytes) {
    return all_reduce_seconds(Scheme::best, nodes(links), ranks, bytes);
  };
  CHECK(best(4, 64, 4) == doubling_seconds(nodes(4), 64, 4));
  CHECK(best(4, 64, 1e9) == hierarchical_seconds(nodes(4), 64, 1e9));
  // Over one link a node has to send as much either way, and inside the ring has nothing to add.
  CHECK(best(1, 64, 1e9) == ring_seconds(nodes(1), 64, 1e9));
  CHECK(best(4, 64, 4) < ring_seconds(nodes(4), 64, 4));
}

TEST_CASE("no sum is quicker with more ranks, more bytes or slower links", "[predict]") {
  for (const Scheme scheme : {Scheme::ring, Scheme::hierarchical, Scheme::doubling, Scheme::best}) {
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

TEST_CASE("without noise the simulated ring is the closed form", "[predict]") {
  for (const std::size_t ranks : {1, 2, 3, 8, 100, 4096}) {
    const Machine machine{{}, {50e-6, 8e-9}, 1e-10, 1, 1};
    const double chunk = 1e8 / double(ranks);
    const double simulated =
        simulate_ring({ranks, machine.between.message_seconds(chunk), chunk * machine.gamma});
    CHECK(simulated == Approx(ring_seconds(machine, ranks, 1e8)).epsilon(1e-10));
  }
}

TEST_CASE("rings of noisy messages", "[predict]") {
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

CostModel changed(const std::string& text) {
  CostModel model;
  model.compute = {0.010, 0.002, 0.5, 0.001, 0.005};
  model.machine = {{1e-6, 1e-10}, {1e-5, 1e-9}, 1e-11, 4, 1};
  model.noise = Distribution::of_sample({0.8, 1.2});
  for (const Change& change : parse_changes(text)) change.apply(model, change);
  return model;
}

TEST_CASE("times, rates and shares with their units", "[predict]") {
  using Parse = double (*)(const std::string&, const std::string&);
  struct Case {
    Parse parse;
    const char* text;
    double value;
  };
  for (const auto& [parse, text, value] :
       {Case{parse_seconds, "5us", 5e-6}, Case{parse_seconds, "544 ms", 0.544},
        Case{parse_seconds, "1.5s", 1.5}, Case{parse_seconds, "20ns", 20e-9},
        Case{parse_seconds, "0s", 0}, Case{parse_rate, "10GB/s", 1e10},
        Case{parse_rate, "1Gbit/s", 125e6}, Case{parse_rate, "8kbit/s", 1000},
        Case{parse_rate, "118.5 MB/s", 118.5e6}, Case{parse_share, "80%", 0.8},
        Case{parse_share, "0.8", 0.8}}) {
    CHECK(parse("--option", text) == Approx(value));
  }
  const std::vector<std::pair<Parse, std::vector<const char*>>> refused = {
      {parse_seconds, {"", "5", "us", "-1us", "5 uus", "nans", "1e999s", "5us "}},
      {parse_rate, {"", "0GB/s", "10", "10GB", "-1GB/s", "10gb/s", "inf"}},
      {parse_share, {"80percent"}}};
  for (const auto& [parse, texts] : refused) {
    for (const char* text : texts) {
      CAPTURE(text);
      CHECK_THAT(refusal([&, read = parse] { read("--option", text); }), Contains("--option"));
    }
  }
}

TEST_CASE("lists of ranks", "[predict]") {
  using List = std::vector<std::size_t>;
  const auto list = [](const char* text) { return parse_rank_list("--ranks", text); };
  for (const auto& [text, ranks] : std::vector<std::pair<const char*, List>>{
           {"1", {1}},
           {"1,2,4,...,64", {1, 2, 4, 8, 16, 32, 64}},
           {"1,2,...,8", {1, 2, 4, 8}},
           {"1,2,3,...,6", {1, 2, 3, 4, 5, 6}},
           {"1,4,8,...,20", {1, 4, 8, 12, 16, 20}},
           {"4,8,12,...,20,100", {4, 8, 12, 16, 20, 100}},
           {"1,2,4,...,100", {1, 2, 4, 8, 16, 32, 64, 100}}}) {
    CHECK(list(text) == ranks);
  }
  for (const char* text : {"", "0", "1,,2", "2,1", "1,1", "...", "1,...,8", "1,2,...", "16385",
                           "1,2,...,...,8", "two", "1,2,...,2"}) {
    CAPTURE(text);
    CHECK_THAT(refusal([&] { list(text); }), Contains("--ranks"));
  }
}

TEST_CASE("changes of a machine", "[predict]") {
  const auto check = [](const char* text, const Link& inside, const Link& between, double gamma) {
    CAPTURE(text);
    const Machine machine = changed(text).machine;
    CHECK(machine.inside.alpha == Approx(inside.alpha));
    CHECK(machine.inside.beta == Approx(inside.beta));
    CHECK(machine.between.alpha == Approx(between.alpha));
    CHECK(machine.between.beta == Approx(between.beta));
    CHECK(machine.gamma == Approx(gamma));
  };
  check("", {1e-6, 1e-10}, {1e-5, 1e-9}, 1e-11);
  check("bandwidth=2x,latency=0.5x", {1e-6, 1e-10}, {5e-6, 5e-10}, 1e-11);
  check("bandwidth=10GB/s,latency=3us", {1e-6, 1e-10}, {3e-6, 1e-10}, 1e-11);
  check("inside-bandwidth=4x,inside-latency=2us,add-rate=1GB/s", {2e-6, 2.5e-11}, {1e-5, 1e-9},
        1e-9);
  const CostModel slow = changed("compute-time=3x");
  CHECK(slow.compute.compute_seconds(10) == Approx(0.090));
  CHECK(slow.compute.other_seconds(10) == Approx(0.045));
  CHECK(changed("noise=0x").noise.expected_max(1000) == Approx(1));
  CHECK(changed("noise=2x").noise.quantile(1) == Approx(1.4));
}

TEST_CASE("changes that are none", "[predict]") {
  for (const auto& [text, words] : std::vector<std::pair<const char*, std::vector<const char*>>>{
           {"bandwith=2x", {"bandwith", "inside-bandwidth"}},
           {"bandwidth", {"--what-if bandwidth"}},
           {"bandwidth=0x", {"above 0"}},
           {"bandwidth=2", {"Gbit/s"}},
           {"latency=-1x", {"--what-if latency"}},
           {"compute-time=5ms", {"factor"}},
           {"latency=5us,,bandwidth=2x", {"--what-if ''"}}}) {
    for (const char* word : words)
      CHECK_THAT(refusal([&, text = text] { parse_changes(text); }), Contains(word));
  }
}

}  // namespace
