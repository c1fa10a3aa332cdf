#include "rueda/reduce/ring_plan.hpp"

#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

using rueda::RingPlan;

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
  CHECK((sum & incoming) == 0);  // nobody's values are added twice
  sum |= incoming;
}

void keep(std::uint32_t& chunk, std::uint32_t incoming) { chunk = incoming; }

/// Elements that `rank` sends in the whole all-reduce.
std::size_t sent_by(const RingPlan& rank) {
  std::size_t sum = 0;
  for (int s = 0; s < rank.steps(); ++s) {
    sum += rank.chunk(rank.reduce_send(s)).size() + rank.chunk(rank.gather_send(s)).size();
  }
  return sum;
}

}  // namespace

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
