#include "rueda/backend/memory_plan.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "rueda/core/random.hpp"

namespace rueda {
namespace {

std::vector<BufferLife> random_lives(std::uint64_t seed) {
  std::vector<BufferLife> lives;
  const std::uint32_t count = 1 + to_below(random_bits(seed, 0), 40);
  for (std::uint32_t i = 0; i < count; ++i) {
    const int first = static_cast<int>(to_below(random_bits(seed, i, 1), 30));
    const int length = static_cast<int>(to_below(random_bits(seed, i, 2), 12));
    lives.push_back({to_below(random_bits(seed, i, 3), 2000), first, first + length});
  }
  return lives;
}

bool live_together(const BufferLife& a, const BufferLife& b) {
  for (int t = a.first; t <= a.last; ++t) {
    if (t >= b.first && t <= b.last) return true;
  }
  return false;
}

bool overlap(std::size_t a, std::size_t a_bytes, std::size_t b, std::size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

std::size_t most_live_bytes(const std::vector<BufferLife>& lives) {
  std::size_t most = 0;
  for (int t = 0; t < 50; ++t) {
    std::size_t sum = 0;
    for (const BufferLife& life : lives) sum += t >= life.first && t <= life.last ? life.bytes : 0;
    most = std::max(most, sum);
  }
  return most;
}

TEST_CASE("memory plan: buffers that live together never overlap", "[memory_plan]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::vector<BufferLife> lives = random_lives(seed);
    const MemoryPlan plan = plan_memory(lives);
    bool disjoint = true;
    bool inside = true;
    bool aligned = true;
    for (std::size_t a = 0; a < lives.size(); ++a) {
      inside = inside && plan.offsets[a] + lives[a].bytes <= plan.pool_bytes;
      aligned = aligned && plan.offsets[a] % kBufferAlignment == 0;
      for (std::size_t b = 0; b < a; ++b) {
        if (!live_together(lives[a], lives[b])) continue;
        disjoint =
            disjoint && !overlap(plan.offsets[a], lives[a].bytes, plan.offsets[b], lives[b].bytes);
      }
    }
    CAPTURE(seed);
    CHECK(disjoint);
    CHECK(inside);
    CHECK(aligned);
    CHECK(plan.pool_bytes >= most_live_bytes(lives));
  }
}

TEST_CASE("memory plan: the same twice", "[memory_plan]") {
  const std::vector<BufferLife> lives = random_lives(7);
  CHECK(plan_memory(lives).offsets == plan_memory(lives).offsets);
}

TEST_CASE("memory plan: memory is reused", "[memory_plan]") {
  // A chain in which each buffer is read by the next step only: two suffice, however long it is.
  std::vector<BufferLife> chain;
  for (int i = 0; i < 20; ++i) chain.push_back({640, i, i + 1});
  CHECK(plan_memory(chain).pool_bytes == 1280);
  // Lives include their last moment: with a gap of one, a single buffer serves all.
  for (BufferLife& life : chain) life = {640, 2 * life.first, 2 * life.first + 1};
  CHECK(plan_memory(chain).pool_bytes == 640);
}

TEST_CASE("memory plan: a gap between two neighbours is found", "[memory_plan]") {
  // The first two lie one behind the other; the third outlives neither and fits in their place.
  const MemoryPlan plan = plan_memory({{1024, 0, 9}, {512, 0, 4}, {512, 5, 9}, {512, 0, 9}});
  CHECK(plan.pool_bytes == 2048);
  CHECK(plan.offsets[1] == plan.offsets[2]);
}

TEST_CASE("memory plan: nothing to place", "[memory_plan]") {
  CHECK(plan_memory({}).pool_bytes == 0);
  CHECK(plan_memory({{0, 0, 5}}).pool_bytes == 0);
  CHECK(plan_memory({{1, 0, 5}}).pool_bytes == kBufferAlignment);
}

}  // namespace
}  // namespace rueda
