#include <catch2/catch.hpp>

#include "commands/bench/explain.hpp"
#include "commands/bench/observed_schedule.hpp"
#include "commands/bench/schedule.hpp"
#include "rueda/core/error.hpp"

using Catch::Matchers::Contains;
using namespace rueda::bench;

namespace {

std::string explained(int ranks, std::size_t length) {
  return explain({ranks, length, rueda::Algorithm::ring});
}

/// Lines up to 130 characters can be read on a wide terminal.
std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

}  // namespace

TEST_CASE("the explained ring leaves the sum of all on every rank", "[explain]") {
  for (int ranks = 2; ranks <= kMostExplainedRanks; ++ranks) {
    const Schedule schedule = ring_schedule(ranks, 1000);
    REQUIRE(schedule.steps.size() == static_cast<std::size_t>(2 * (ranks - 1)));
    Holdings holdings = first_holdings(schedule);
    for (const Step& step : schedule.steps) holdings = holdings_after(step, holdings);
    for (const auto& rank : holdings) {
      for (const unsigned held : rank) REQUIRE(held == (1U << static_cast<unsigned>(ranks)) - 1);
    }
  }
}

TEST_CASE("a value is never added twice", "[explain]") {
  const Schedule schedule = ring_schedule(7, 7);
  Holdings holdings = first_holdings(schedule);
  for (const Step& step : schedule.steps) {
    for (const Message& m : step.messages) {
      const auto chunk = static_cast<std::size_t>(m.chunk);
      const unsigned sent = holdings[static_cast<std::size_t>(m.from)][chunk];
      if (m.adds) REQUIRE((sent & holdings[static_cast<std::size_t>(m.to)][chunk]) == 0);
    }
    holdings = holdings_after(step, holdings);
  }
}

TEST_CASE("what is sent adds up to the bound", "[explain]") {
  for (const std::size_t length : {0U, 1U, 3U, 4U, 5U, 1000U, 1001U}) {
    std::size_t floats = 0;
    for (const Traffic& sent : sent_by_rank(ring_schedule(4, length))) floats += sent.floats;
    REQUIRE(floats == 2 * 3 * length);
  }
  REQUIRE(sent_by_rank(ring_schedule(4, 1))[0].messages == 2);  // other chunks are empty
}

TEST_CASE("the text names senders, chunks, holdings and totals", "[explain]") {
  const std::string text = explained(4, 1000);
  REQUIRE_THAT(text, Contains("4 ranks sum 1,000 floats (4,000 bytes) in 4 chunks of 250 floats"));
  REQUIRE_THAT(text, Contains("reduce-scatter, step 0: 0->1 chunk 0, 1->2 chunk 1, 2->3 chunk 2"));
  REQUIRE_THAT(text, Contains("all-gather, step 2: 0->1 chunk 3, 1->2 chunk 0"));
  // As in docs/ring.md after step 1 of the reduce-scatter.
  REQUIRE_THAT(text, Contains("rank 0   0     0    >2-0   3-0\n"));
  REQUIRE_THAT(text, Contains("rank 0   *   *   *   *\n"));
  REQUIRE_THAT(text, Contains("A rank sends 6 messages, 6,000 bytes."));
  REQUIRE_THAT(text, Contains("All ranks together: 24 messages, 24,000 bytes."));
}

TEST_CASE("what doubling and the central sum were seen to send leaves the sum on all",
          "[explain]") {
  for (const auto algorithm : {rueda::Algorithm::doubling, rueda::Algorithm::central}) {
    for (int ranks = 2; ranks <= kMostExplainedRanks; ++ranks) {
      const Schedule schedule = observed_schedule(algorithm, ranks, 10);
      Holdings holdings = first_holdings(schedule);
      for (const Step& step : schedule.steps) holdings = holdings_after(step, holdings);
      for (const auto& rank : holdings) {
        REQUIRE(rank[0] == (1U << static_cast<unsigned>(ranks)) - 1);
      }
    }
  }
}

TEST_CASE("doubling takes the logarithm of steps, rank 0 as many as there are others",
          "[explain]") {
  REQUIRE(observed_schedule(rueda::Algorithm::doubling, 8, 10).steps.size() == 3);
  const Schedule central = observed_schedule(rueda::Algorithm::central, 5, 10);
  REQUIRE(central.steps.size() == 8);
  REQUIRE(sent_by_rank(central)[0].floats == 40);
  REQUIRE(sent_by_rank(central)[3].floats == 10);
  REQUIRE_THAT(explain({4, 1000, rueda::Algorithm::doubling}),
               Contains("0->1, 1->0, 2->3, 3->2; what comes in is added"));
}

TEST_CASE("it can be read up to the most ranks, and for any length", "[explain]") {
  REQUIRE(longest_line(explained(8, 1000)) <= 80);
  REQUIRE(longest_line(explained(kMostExplainedRanks, 1000)) <= 130);
  REQUIRE_THAT(explained(1, 5), Contains("nobody to send to"));
  REQUIRE_THAT(explained(3, 0), Contains("nothing, the chunks are empty"));
}
