#include "reduce/pair_plan.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "reduce/doubling_plan.hpp"
#include "reduce/halving_plan.hpp"
#include "reduce/tree_order.hpp"

namespace rueda::test {
namespace {

constexpr int kMost = 33;  ///< ranks

using Texts = std::vector<std::string>;  ///< what a rank has summed, by chunk
using MakePlan = PairPlan (*)(int rank, int ranks);

/// The sum of both; a + b and b + a have the same bits, so they are one text.
std::string added(const std::string& a, const std::string& b) {
  return "(" + std::min(a, b) + "+" + std::max(a, b) + ")";
}

std::string name_of(int rank) { return {char('A' + rank)}; }

/// In the order of TreeOrder, by one who has all.
std::string tree_of(int ranks) {
  Texts slots(TreeOrder::slots_needed(std::size_t(ranks)));
  const auto merge = [&](std::size_t into, std::size_t from) {
    slots[into] = added(slots[into], slots[from]);
  };
  TreeOrder order;
  for (int rank = 0; rank < ranks; ++rank) {
    slots[order.next_slot()] = name_of(rank);
    order.push(merge);
  }
  order.finish(merge);
  return slots.front();
}

/// Lets ranks go on one by one, whoever can, until none can: two at a time whose next steps name
/// each other.
struct Ranks {
  std::vector<std::vector<PairStep>> left;  ///< steps of each, the next one first
  std::vector<Texts> have;

  Ranks(MakePlan make, int count) {
    for (int rank = 0; rank < count; ++rank) {
      const PairPlan plan = make(rank, count);
      left.push_back(plan.steps);
      have.emplace_back(plan.chunks, name_of(rank));
    }
  }
  void receive(const PairStep& step, std::size_t rank, const Texts& sent) {
    for (std::size_t chunk = step.received.begin; chunk < step.received.end; ++chunk) {
      std::string& own = have[rank][chunk];
      own = step.adds ? added(own, sent[chunk]) : sent[chunk];
    }
  }
  void take_step(std::size_t one, std::size_t other) {
    const PairStep mine = left[one].front();
    const PairStep theirs = left[other].front();
    CHECK(mine.sent == theirs.received);
    CHECK(mine.received == theirs.sent);
    const Texts before = have[one];
    receive(mine, one, have[other]);
    receive(theirs, other, before);
    left[one].erase(left[one].begin());
    left[other].erase(left[other].begin());
  }
  bool go_on() {
    for (std::size_t one = 0; one < left.size(); ++one) {
      if (left[one].empty()) continue;
      const auto other = std::size_t(left[one].front().peer);
      REQUIRE(other < left.size());
      if (other == one || left[other].empty()) continue;
      if (left[other].front().peer != int(one)) continue;
      take_step(one, other);
      return true;
    }
    return false;
  }
  /// All steps, of all ranks.
  void finish() {
    while (go_on()) {
    }
    for (const auto& steps : left) CHECK(steps.empty());
  }
};

TEST_CASE("steps of recursive doubling fit together and give the sum of the tree", "[reduce]") {
  for (int count = 1; count <= kMost; ++count) {
    CAPTURE(count);
    Ranks ranks(doubling_plan, count);
    ranks.finish();
    CHECK(ranks.have == std::vector<Texts>(std::size_t(count), Texts{tree_of(count)}));
  }
}

TEST_CASE("with a power of two of ranks each has a partner in every round", "[reduce]") {
  for (const int count : {1, 2, 4, 8, 16}) {
    for (int rank = 0; rank < count; ++rank) {
      const auto steps = doubling_plan(rank, count).steps;
      REQUIRE(1U << steps.size() == unsigned(count));
      for (std::size_t round = 0; round < steps.size(); ++round) {
        CHECK(steps[round].peer == (rank ^ 1 << round));
        CHECK(steps[round].adds);
      }
    }
  }
}

TEST_CASE("a block is cut at a power of two, and its sum spread by doubling", "[reduce]") {
  for (int count = 2; count <= 17; ++count) {
    const DoublingBlock block{3, count};
    CAPTURE(count);
    CHECK(block.left().first == 3);
    CHECK(block.right().first == 3 + block.left().count);
    CHECK(block.left().count + block.right().count == count);
    CHECK(std::has_single_bit(unsigned(block.left().count)));
    CHECK(block.left().count >= block.right().count);
    int spreads = 0;
    for (int have = block.right().count; have < block.left().count; have *= 2) ++spreads;
    CHECK(block.spreads() == spreads);
  }
}

/// Each rank's name, sorted: the sum of all, whatever the order.
std::string names_in(const std::string& sum) {
  std::string names;
  for (const char letter : sum)
    if (letter != '(' && letter != ')' && letter != '+') names += letter;
  std::ranges::sort(names);
  return names;
}

TEST_CASE("steps of recursive halving and doubling fit together and give the sum of all",
          "[reduce]") {
  for (int count = 1; count <= kMost; ++count) {
    CAPTURE(count);
    std::string everyone;
    for (int rank = 0; rank < count; ++rank) everyone += name_of(rank);
    Ranks ranks(halving_plan, count);
    ranks.finish();
    CHECK(names_in(ranks.have[0][0]) == everyone);
    for (const Texts& of_rank : ranks.have)
      CHECK(of_rank == Texts(std::bit_floor(std::size_t(count)), ranks.have[0][0]));
    CHECK((ranks.have[0][0] == tree_of(count)) == halving_keeps_tree_order(count));
  }
}

TEST_CASE("halving keeps the order of the tree for differences of two powers of two", "[reduce]") {
  std::vector<int> keeping;
  for (int count = 1; count <= 32; ++count)
    if (halving_keeps_tree_order(count)) keeping.push_back(count);
  CHECK(keeping == std::vector<int>{1, 2, 3, 4, 6, 7, 8, 12, 14, 15, 16, 24, 28, 30, 31, 32});
}

TEST_CASE("halving sends log2 P messages each way, half as long each time", "[reduce]") {
  for (const int count : {2, 4, 8, 16, 32}) {
    for (int rank = 0; rank < count; ++rank) {
      const PairPlan plan = halving_plan(rank, count);
      const int rounds = std::countr_zero(unsigned(count));
      CAPTURE(count, rank);
      REQUIRE(int(plan.steps.size()) == 2 * rounds);
      for (int round = 0; round < rounds; ++round) {
        const PairStep& scatter = plan.steps[std::size_t(round)];
        const PairStep& gather = plan.steps[std::size_t(2 * rounds - 1 - round)];
        CHECK(scatter.peer == (rank ^ 1 << round));
        CHECK(scatter.sent.size() == std::size_t(count) >> (round + 1));
        CHECK(scatter.adds);
        CHECK(gather.peer == scatter.peer);
        CHECK(gather.sent == scatter.received);
        CHECK_FALSE(gather.adds);
      }
    }
  }
}

TEST_CASE("ranks that are too many hand their slice to their neighbours", "[reduce]") {
  const PairPlan folded = halving_plan(3, 6);
  REQUIRE(folded.steps.size() == 2);
  CHECK(folded.steps[0].peer == 2);
  CHECK(folded.steps[0].sent == Range{0, 4});
  CHECK(folded.steps[1].received == Range{0, 4});
  CHECK(halving_plan(2, 6).steps.size() == 2 * 2 + 2);
  CHECK(halving_plan(4, 6).steps.size() == 2 * 2);  // of no pair
}

TEST_CASE("chunks of a plan are cut as the ring's", "[reduce]") {
  const PairPlan plan{4};
  CHECK(plan.floats(10, {0, 4}) == Range{0, 10});
  CHECK(plan.floats(10, {1, 3}) == Range{3, 8});
  CHECK(plan.floats(2, {2, 4}).empty());
  CHECK(plan.floats(10, {}).empty());
}

}  // namespace
}  // namespace rueda::test
