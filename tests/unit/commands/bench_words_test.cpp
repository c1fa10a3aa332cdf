#include <bit>
#include <sstream>

#include <catch2/catch.hpp>

#include "commands/bench/bench.hpp"
#include "commands/bench/schedule.hpp"
#include "rueda/core/error.hpp"

using Catch::Matchers::Contains;
using rueda::Algorithm;
using rueda::InputError;
using namespace rueda::bench;

namespace {

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

}  // namespace

TEST_CASE("every schedule leaves the sum of all on every rank and adds no value twice",
          "[explain]") {
  const auto algorithm = GENERATE(Algorithm::ring, Algorithm::doubling, Algorithm::central);
  const int ranks = GENERATE(range(2, kMostExplainedRanks + 1));
  const Schedule schedule = schedule_of(algorithm, ranks, 1000);
  Holdings holdings = first_holdings(schedule);
  for (const Step& step : schedule.steps) {
    for (const Message& m : step.messages) {
      const auto chunk = static_cast<std::size_t>(m.chunk);
      const unsigned sent = holdings[static_cast<std::size_t>(m.from)][chunk];
      if (m.adds) REQUIRE((sent & holdings[static_cast<std::size_t>(m.to)][chunk]) == 0);
    }
    holdings = holdings_after(step, holdings);
  }
  for (const auto& rank : holdings) {
    for (const unsigned held : rank) REQUIRE(std::popcount(held) == ranks);
  }
}

TEST_CASE("a schedule has the steps and the bytes of its algorithm", "[explain]") {
  for (const std::size_t length : {0U, 1U, 3U, 4U, 5U, 1000U, 1001U}) {
    std::size_t floats = 0;
    const Schedule ring = schedule_of(Algorithm::ring, 4, length);
    REQUIRE(ring.steps.size() == 6);
    for (const Traffic& sent : sent_by_rank(ring)) floats += sent.floats;
    REQUIRE(floats == 2 * 3 * length);
  }
  REQUIRE(sent_by_rank(schedule_of(Algorithm::ring, 4, 1))[0].messages == 2);  // others are empty
  REQUIRE(schedule_of(Algorithm::doubling, 8, 10).steps.size() == 3);
  const Schedule central = schedule_of(Algorithm::central, 5, 10);
  REQUIRE(central.steps.size() == 8);
  REQUIRE(sent_by_rank(central)[0].floats == 40);
  REQUIRE(sent_by_rank(central)[3].floats == 10);
}

TEST_CASE("the text names senders, chunks, holdings and totals", "[explain]") {
  const std::string text = explain({4, 1000, Algorithm::ring});
  for (const char* part : {
           "4 ranks sum 1,000 floats (4,000 bytes) in 4 chunks of 250 floats",
           "reduce-scatter, step 0: 0->1 chunk 0, 1->2 chunk 1, 2->3 chunk 2",
           "all-gather, step 2: 0->1 chunk 3, 1->2 chunk 0",
           "rank 0   0     0    >2-0   3-0\n",  // as in docs/ring.md after step 1
           "rank 0   *   *   *   *\n",
           "A rank sends 6 messages, 6,000 bytes.",
           "All ranks together: 24 messages, 24,000 bytes.",
       }) {
    CHECK_THAT(text, Contains(part));
  }
  CHECK_THAT(explain({4, 1000, Algorithm::doubling}),
             Contains("0->1, 1->0, 2->3, 3->2; what comes in is added"));
  CHECK_THAT(explain({1, 5, Algorithm::ring}), Contains("nobody to send to"));
  CHECK_THAT(explain({3, 0, Algorithm::ring}), Contains("nothing, the chunks are empty"));
}

TEST_CASE("the text fits a wide terminal up to the most ranks", "[explain]") {
  CHECK(longest_line(explain({8, 1000, Algorithm::ring})) <= 80);
  CHECK(longest_line(explain({kMostExplainedRanks, 1000, Algorithm::ring})) <= 130);
}

TEST_CASE("sizes are bytes with decimal or binary units, ascending, each once", "[bench]") {
  REQUIRE(parse_sizes("1M,4,64k,16Ki,2G,1Mi,4,1Gi") == std::vector<Size>{{4, ""},
                                                                         {16'384, ""},
                                                                         {64'000, ""},
                                                                         {1'000'000, ""},
                                                                         {1'048'576, ""},
                                                                         {1'073'741'824, ""},
                                                                         {2'000'000'000, ""}});
}

TEST_CASE("the name of a network is the size of what its training sums", "[bench]") {
  // ResNet-18: 11,173,962 parameters, 9,600 statistics, 5 step sums; counted elsewhere.
  REQUIRE(parse_sizes("resnet18") == std::vector<Size>{{(11'173'962 + 9'600 + 5) * 4, "resnet18"}});
}

TEST_CASE("what is no size is refused by its name", "[bench]") {
  for (const std::string words : {"", "4,", ",4", "k", "4e6", "-4", "4 ", "4kb", "4K", "resnet19",
                                  "99999999999999999999", "2000G", "0x4"}) {
    INFO(words);
    REQUIRE_THROWS_WITH(parse_sizes(words), Contains("give a number of bytes"));
  }
  for (const std::string words : {"0", "3", "4,7"}) {
    REQUIRE_THROWS_WITH(parse_sizes(words), Contains("a multiple of 4 bytes"));
  }
}

TEST_CASE("segments are KiB", "[bench]") {
  REQUIRE(parse_segments("64,0,1,64") == std::vector<std::size_t>{0, 1024, 65'536});
  for (const std::string words : {"", "64k", "x", "1048577", "-1"}) {
    INFO(words);
    REQUIRE_THROWS_AS(parse_segments(words), InputError);
  }
}

TEST_CASE("algorithms are named as train names them, and the fixed order", "[bench]") {
  const Entries some = parse_entries("mpi,ring,fixed,mpi");
  REQUIRE(some.size() == 3);  // each once
  REQUIRE_FALSE(some.all);
  REQUIRE(some[0].algorithm == Algorithm::mpi);
  REQUIRE(some[1].name == "ring");
  REQUIRE(some[1].order == rueda::ReduceOrder::ring);
  REQUIRE(some[2].name == "fixed");
  REQUIRE(some[2].algorithm == Algorithm::ring);
  REQUIRE(some[2].order == rueda::ReduceOrder::fixed);
  const Entries every = parse_entries("all");
  REQUIRE(every.all);
  REQUIRE(every.size() == std::size(rueda::kAlgorithms) + 1);
  REQUIRE_THROWS_WITH(parse_entries("ring,rong"), Contains("'rong'") && Contains("hierarchical"));
}
