#include "rueda/backend/memory_plan.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace rueda {
namespace {

struct Placed {
  std::size_t begin;
  std::size_t end;
  std::size_t buffer;
};

/// The lowest offset where `bytes` fit between the neighbours, which come sorted by `begin`.
std::size_t lowest_gap(const std::vector<Placed>& placed, const std::vector<BufferLife>& buffers,
                       const BufferLife& life, std::size_t bytes) {
  std::size_t offset = 0;
  for (const Placed& p : placed) {
    if (!life.meets(buffers[p.buffer])) continue;
    if (offset + bytes <= p.begin) break;
    offset = std::max(offset, p.end);
  }
  return offset;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<BufferLife>& buffers) {
  MemoryPlan plan;
  plan.offsets.resize(buffers.size());
  std::vector<Placed> placed;
  std::vector<std::size_t> largest_first(buffers.size());
  std::iota(largest_first.begin(), largest_first.end(), std::size_t{0});
  std::ranges::stable_sort(largest_first, std::greater(),
                           [&](std::size_t b) { return buffers[b].bytes; });
  for (const std::size_t b : largest_first) {
    const std::size_t bytes = aligned_bytes(buffers[b].bytes);
    const std::size_t offset = lowest_gap(placed, buffers, buffers[b], bytes);
    const Placed p{offset, offset + bytes, b};
    placed.insert(std::ranges::upper_bound(placed, p.begin, {}, &Placed::begin), p);
    plan.offsets[b] = offset;
    plan.pool_bytes = std::max(plan.pool_bytes, p.end);
  }
  return plan;
}

}  // namespace rueda
