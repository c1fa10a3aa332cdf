#include "reduce/doubling_plan.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "reduce/tree_order.hpp"

namespace rueda::test {
namespace {

using Act = DoublingStep::Act;
using Texts = std::vector<std::string>;  ///< what each rank has summed, by rank

/// The sum of both; a + b and b + a have the same bits, so they are one text.
std::string added(const std::string& a, const std::string& b) {
  return "(" + std::min(a, b) + "+" + std::max(a, b) + ")";
}

std::string name_of(int rank) { return {char('a' + rank)}; }

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
  std::vector<std::vector<DoublingStep>> left;  ///< steps of each, the next one first
  Texts have;

  explicit Ranks(int count) {
    for (int rank = 0; rank < count; ++rank) {
      left.push_back(doubling_steps(rank, count));
      have.push_back(name_of(rank));
    }
  }
  void take_step(std::size_t one, std::size_t other) {
    const Act act = left[one].front().act;
    const Act reply = left[other].front().act;
    if (act == Act::swap_and_add) {
      CHECK(reply == Act::swap_and_add);
      have[one] = have[other] = added(have[one], have[other]);
    } else if (act == Act::send) {
      CHECK(reply == Act::receive);
      have[other] = have[one];
    } else {
      CHECK(reply == Act::send);
      have[one] = have[other];
    }
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
};

TEST_CASE("steps of recursive doubling fit together and give the sum of the tree", "[reduce]") {
  for (int count = 1; count <= 17; ++count) {
    CAPTURE(count);
    Ranks ranks(count);
    while (ranks.go_on()) {
    }
    for (const auto& left : ranks.left) CHECK(left.empty());
    CHECK(ranks.have == Texts(std::size_t(count), tree_of(count)));
  }
}

TEST_CASE("with a power of two of ranks each has a partner in every round", "[reduce]") {
  for (const int count : {1, 2, 4, 8, 16}) {
    for (int rank = 0; rank < count; ++rank) {
      std::vector<DoublingStep> expected;
      for (int bit = 1; bit < count; bit *= 2) expected.push_back({Act::swap_and_add, rank ^ bit});
      CHECK(doubling_steps(rank, count) == expected);
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

}  // namespace
}  // namespace rueda::test
