#include "rueda/reduce/tree_order.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "rueda/reduce/reduce_loops.hpp"
#include "tests/support/tree_sums.hpp"

using rueda::TreeOrder;
using namespace rueda::test;

namespace {

struct Outcome {
  std::string sum;             ///< the additions as a formula
  std::size_t most_slots = 0;  ///< slots that held something at one time
};

/// Adds `terms` in the fixed order, as formulas.
Outcome add_up(const std::vector<std::string>& terms) {
  TreeOrder order;
  std::vector<std::string> slots(terms.size() + 1);
  Outcome outcome;
  const auto merge = [&](std::size_t into, std::size_t from) {
    slots.at(into) = "(" + slots.at(into) + "+" + slots.at(from) + ")";
    slots.at(from).clear();
  };
  for (const auto& term : terms) {
    REQUIRE(slots.at(order.next_slot()).empty());
    slots.at(order.next_slot()) = term;
    outcome.most_slots = std::max(outcome.most_slots, order.next_slot() + 1);
    order.push(merge);
  }
  REQUIRE(order.count() == terms.size());
  order.finish(merge);
  REQUIRE(order.count() == 0);
  REQUIRE(std::all_of(slots.begin() + 1, slots.end(), [](const auto& s) { return s.empty(); }));
  outcome.sum = slots.at(0);
  return outcome;
}

std::vector<std::string> numbers(std::size_t begin, std::size_t end) {
  std::vector<std::string> terms;
  for (std::size_t i = begin; i < end; ++i) terms.push_back(std::to_string(i));
  return terms;
}

}  // namespace

TEST_CASE("the fixed order by hand", "[tree_order]") {
  for (const auto& [count, sum] : {std::pair(1U, "0"),
                                   {2U, "(0+1)"},
                                   {3U, "((0+1)+2)"},
                                   {4U, "((0+1)+(2+3))"},
                                   {5U, "(((0+1)+(2+3))+4)"},
                                   {7U, "(((0+1)+(2+3))+((4+5)+6))"}})
    CHECK(add_up(numbers(0, count)).sum == sum);
}

TEST_CASE("slots_needed is what the fixed order uses", "[tree_order]") {
  CHECK(TreeOrder::slots_needed(0) == 0);
  CHECK(TreeOrder::slots_needed(1) == 1);
  CHECK(TreeOrder::slots_needed(8) == 4);
  for (std::size_t n = 1; n <= 70; ++n) {
    CAPTURE(n);
    CHECK(add_up(numbers(0, n)).most_slots == TreeOrder::slots_needed(n));
  }
}

TEST_CASE("ranks that add micro-batches first add as one rank would", "[tree_order]") {
  for (const std::size_t micro_batches : {1u, 2u, 4u, 8u}) {
    for (std::size_t ranks = 1; ranks <= 9; ++ranks) {
      std::vector<std::string> of_ranks;
      for (std::size_t r = 0; r < ranks; ++r) {
        of_ranks.push_back(add_up(numbers(r * micro_batches, (r + 1) * micro_batches)).sum);
      }
      CAPTURE(ranks, micro_batches);
      CHECK(add_up(of_ranks).sum == add_up(numbers(0, ranks * micro_batches)).sum);
    }
  }
}

TEST_CASE("three micro-batches on two ranks round differently from six on one", "[tree_order]") {
  const auto two_ranks = add_up({add_up(numbers(0, 3)).sum, add_up(numbers(3, 6)).sum});
  CHECK(two_ranks.sum != add_up(numbers(0, 6)).sum);
}

TEST_CASE("sums in one pass have the bits of the tree, in every target", "[tree]") {
  for (const int count : {1, 2, 3, 4, 5, 7, 8, 15}) {
    for (const std::size_t length : {0U, 1U, 1023U, 1024U, 1025U, 3000U}) {
      std::vector<std::vector<float>> arrays;
      std::vector<const float*> from;
      std::vector<float*> to;
      for (int r = 0; r < count; ++r) arrays.push_back(filled<rough_value>(r, length));
      for (auto& array : arrays) {
        from.push_back(array.data());
        to.push_back(array.data());
      }
      std::vector<float> elsewhere(length);
      to.push_back(elsewhere.data());
      rueda::tree_sum(from, to, length);
      CAPTURE(count, length);
      const auto expected = serial_trees(count, length);
      CHECK(elsewhere == expected);
      for (const auto& array : arrays) CHECK(array == expected);
    }
  }
}
