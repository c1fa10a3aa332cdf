#include "reduce/ring_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

#include "reduce/host_sums.hpp"
#include "reduce/tree_order.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/reduce/reduce_device.hpp"
#include "tests/support/thread_group.hpp"
#include "tests/support/values.hpp"

using namespace rueda::test;
using namespace rueda;

namespace {

/// What the ranks hold, chunk by chunk: the set of ranks whose values are in the sum, as bits.
using Holdings = std::vector<std::vector<std::uint32_t>>;

std::size_t at(int i) { return std::size_t(i); }

Holdings only_own_values(int size) {
  Holdings holds(at(size));
  for (int r = 0; r < size; ++r) holds[at(r)].assign(at(size), 1u << r);
  return holds;
}

std::vector<RingPlan> plans(std::size_t length, int size) {
  std::vector<RingPlan> all;
  for (int r = 0; r < size; ++r) all.push_back({length, r, size});
  return all;
}

using Chunk = int (RingPlan::*)(int) const noexcept;

/// One step of a phase: all messages are read before `take` puts any into what a rank holds.
template <typename Take>
void step(Holdings& holds, const std::vector<RingPlan>& ring, int step, Chunk send, Chunk receive,
          Take take) {
  const Holdings before = holds;
  for (const auto& rank : ring) {
    const auto& left = ring[at(rank.left())];
    REQUIRE(left.right() == rank.rank);
    const int chunk = (left.*send)(step);
    REQUIRE(chunk == (rank.*receive)(step));
    take(holds[at(rank.rank)][at(chunk)], before[at(left.rank)][at(chunk)]);
  }
}

void add(std::uint32_t& sum, std::uint32_t incoming) {
  CHECK((sum & incoming) == 0);  // no rank's values are added twice
  sum |= incoming;
}

void keep(std::uint32_t& chunk, std::uint32_t incoming) { chunk = incoming; }

/// Elements that `rank` sends in the whole all-reduce.
std::size_t sent_by(const RingPlan& rank) {
  std::size_t sum = 0;
  for (int s = 0; s < rank.steps(); ++s)
    sum += rank.chunk(rank.reduce_send(s)).size() + rank.chunk(rank.gather_send(s)).size();
  return sum;
}

TEST_CASE("the ring's schedule completes every chunk on every rank", "[ring_plan]") {
  for (int size = 1; size <= 16; ++size) {
    CAPTURE(size);
    const auto ring = plans(1000, size);
    Holdings holds = only_own_values(size);
    const std::uint32_t everybody = (1u << size) - 1;
    for (int s = 0; s < size - 1; ++s)
      step(holds, ring, s, &RingPlan::reduce_send, &RingPlan::reduce_receive, add);
    for (const auto& rank : ring) CHECK(holds[at(rank.rank)][at(rank.owned())] == everybody);
    for (int s = 0; s < size - 1; ++s)
      step(holds, ring, s, &RingPlan::gather_send, &RingPlan::gather_receive, keep);
    for (const auto& rank : holds) CHECK(rank == std::vector<std::uint32_t>(at(size), everybody));
  }
}

TEST_CASE("each rank sends 2(P-1)/P of the slice", "[ring_plan]") {
  for (int size = 1; size <= 9; ++size) {
    const std::size_t length = 840 * at(size);
    std::size_t uneven = 0;
    for (const auto& rank : plans(length, size)) CHECK(sent_by(rank) == 2 * 840 * at(size - 1));
    for (const auto& rank : plans(1009, size)) {
      uneven += sent_by(rank);
      CHECK(rank.chunk(size - 1).end == 1009);
      CHECK(rank.largest_chunk() == (1008 + at(size)) / at(size));
    }
    CHECK(uneven == 2 * at(size - 1) * 1009);
  }
}

TEST_CASE("the segments of a chunk are equal, of about the length that was asked for",
          "[ring_plan]") {
  struct Case {
    std::size_t chunk, wanted, length, count;
  };
  for (const Case& c :
       {Case{0, 0, 1, 1}, Case{0, 8, 1, 1}, Case{100, 0, 100, 1}, Case{8, 8, 8, 1},
        Case{11, 8, 11, 1}, Case{12, 8, 6, 2}, Case{100, 8, 8, 13}, Case{5, 1, 1, 5},
        Case{3, 2, 2, 2}, Case{135'552, 131'072, 135'552, 1}}) {  // ResNet-20's on two ranks
    CAPTURE(c.chunk, c.wanted);
    const Segments segments = Segments::of(c.chunk, c.wanted);
    CHECK(segments.length == c.length);
    CHECK(segments.count == c.count);
  }
}

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
      for (std::size_t r = 0; r < ranks; ++r)
        of_ranks.push_back(add_up(numbers(r * micro_batches, (r + 1) * micro_batches)).sum);
      CAPTURE(ranks, micro_batches);
      CHECK(add_up(of_ranks).sum == add_up(numbers(0, ranks * micro_batches)).sum);
    }
  }
}

TEST_CASE("three micro-batches on two ranks round differently from six on one", "[tree_order]") {
  const auto two_ranks = add_up({add_up(numbers(0, 3)).sum, add_up(numbers(3, 6)).sum});
  CHECK(two_ranks.sum != add_up(numbers(0, 6)).sum);
}

/// Sums of rough values, whose bits show the order of addition: what ranks compute, each of its
/// micro-batches first.
std::vector<float> dealt_sums(const Deal& deal) {
  std::vector<float> sums;
  for (std::size_t element = 0; element < 64; ++element) {
    std::vector<float> of_ranks;
    for (std::size_t r = 0; r < deal.ranks; ++r) {
      std::vector<float> mine;
      for (std::size_t k = 0; k < deal.each; ++k)
        mine.push_back(rough_value(int(r * deal.each + k), element));
      of_ranks.push_back(tree_sum(mine));
    }
    sums.push_back(tree_sum(of_ranks));
  }
  return sums;
}

TEST_CASE("two ways to deal micro-batches have the same bits where the condition says so",
          "[tree_order]") {
  std::vector<Deal> deals;
  for (std::size_t ranks = 1; ranks <= 8; ++ranks)
    for (std::size_t each = 1; each <= 8; ++each) deals.push_back({ranks, each});
  for (std::size_t parts = 9; parts <= 64; ++parts) {  // all of them on one rank, and dealt singly
    deals.push_back({1, parts});
    deals.push_back({parts, 1});
  }
  std::vector<std::vector<float>> sums;
  for (const Deal& deal : deals) sums.push_back(dealt_sums(deal));
  for (std::size_t a = 0; a < deals.size(); ++a) {
    for (std::size_t b = 0; b < deals.size(); ++b) {
      CAPTURE(deals[a].ranks, deals[a].each, deals[b].ranks, deals[b].each);
      CHECK(same_tree(deals[a], deals[b]) == same_bits(sums[a], sums[b]));
    }
  }
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
      rueda::tree_sum(from, to, {0, length});
      CAPTURE(count, length);
      const auto expected = serial_trees(count, length);
      CHECK(elsewhere == expected);
      for (const auto& array : arrays) CHECK(array == expected);
    }
  }
}

/// What one rank caught.
struct Caught {
  bool threw = false;
  bool agreed = false;
  ExitCode code = ExitCode::done;
  std::string message;
  bool operator==(const Caught&) const = default;
};

/// Runs `body` on `size` ranks. All must have caught the same.
Caught caught_by_ranks(int size, const std::function<void(RankGroup&)>& body) {
  std::vector<Caught> all(static_cast<std::size_t>(size));
  ThreadGroup::run(size, [&](ThreadGroup& group) {
    auto& mine = all[std::size_t(group.rank())];
    try {
      body(group);
    } catch (const Error& error) {
      mine = {true, is_agreed(error), error.code(), error.what()};
    }
  });
  for (const Caught& one : all) CHECK(one == all[0]);
  CHECK(all[0].agreed == all[0].threw);
  return all[0];
}

std::string on_host(int rank) { return "rank " + std::to_string(rank) + " (" + host_name() + ")"; }

Caught together_on_three(const std::function<void(int)>& work) {
  return caught_by_ranks(3,
                         [&](RankGroup& group) { together(group, [&] { work(group.rank()); }); });
}

/// require_same on as many ranks as there are texts.
Caught require_same_of(const std::vector<std::string>& texts) {
  return caught_by_ranks(int(texts.size()), [&](RankGroup& group) {
    require_same(group, "the configuration", texts[std::size_t(group.rank())]);
  });
}

TEST_CASE("together does the work and throws nothing if no rank failed", "[agreement]") {
  std::vector<int> worked(3, 0);
  CHECK_FALSE(together_on_three([&](int rank) { ++worked[std::size_t(rank)]; }).threw);
  CHECK(worked == std::vector<int>{1, 1, 1});
}

TEST_CASE("together throws what the lowest rank met, and names it unless all met it",
          "[agreement]") {
  const std::vector<std::tuple<std::function<void(int)>, ExitCode, std::string>> failures = {
      {[](int rank) {
         if (rank > 0) throw InputError("file " + std::to_string(rank) + " is damaged");
       },
       ExitCode::bad_input, on_host(1) + ": file 1 is damaged"},
      {[](int) { throw InputError("no such model"); }, ExitCode::bad_input, "no such model"},
      {[](int rank) { throw RunError("out of " + std::to_string(rank)); }, ExitCode::run_failed,
       on_host(0) + ": out of 0"},
      {[](int) { throw std::out_of_range("7 is too far"); }, ExitCode::run_failed, "7 is too far"},
      {[](int rank) {
         if (rank == 2) throw 42;
       },
       ExitCode::run_failed, on_host(2) + ": an exception that carries no message"}};
  for (const auto& [work, code, message] : failures) {
    const Caught caught = together_on_three(work);
    CHECK(caught.code == code);
    CHECK(caught.message == message);
  }
}

TEST_CASE("a group of one fails in its own words", "[agreement]") {
  ThreadGroup solo;
  CHECK_THROWS_AS(together(solo, [] { throw InputError("no"); }), InputError);
  CHECK_THROWS_WITH(together(solo, [] { throw InputError("no"); }), "no");
  CHECK_NOTHROW(require_same(solo, "the version", "1.0"));
  CHECK_FALSE(is_agreed(RunError("MPI_Sendrecv failed")));
}

TEST_CASE("require_same names rank, host and the first line that differs", "[agreement]") {
  CHECK_FALSE(require_same_of({"a\nb", "a\nb", "a\nb"}).threw);
  CHECK_FALSE(require_same_of({"", ""}).threw);
  const auto caught = require_same_of({"lr 0.1\nseed 1\n", "lr 0.1\nseed 1\n", "lr 0.1\nseed 2\n"});
  CHECK(caught.threw);
  CHECK(caught.agreed);
  CHECK(caught.code == ExitCode::bad_input);
  CHECK(caught.message == "the configuration differs between ranks: " + on_host(0) +
                              " has 'seed 1', " + on_host(2) +
                              " has 'seed 2'; give every rank the same");
  CHECK_THAT(require_same_of({"lr 0.1", "lr 0.1\nseed 2"}).message,
             Catch::Contains("has nothing, " + on_host(1) + " has 'seed 2'"));
}

}  // namespace
