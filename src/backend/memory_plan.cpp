#include "rueda/backend/memory_plan.hpp"

#include <algorithm>
#include <numeric>

namespace rueda {
namespace {

std::vector<std::size_t> largest_first(const std::vector<BufferLife>& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return buffers[a].bytes > buffers[b].bytes;
  });
  return order;
}

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
  for (const std::size_t b : largest_first(buffers)) {
    const std::size_t bytes = aligned_bytes(buffers[b].bytes);
    const std::size_t offset = lowest_gap(placed, buffers, buffers[b], bytes);
    const Placed p{offset, offset + bytes, b};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), p,
                         [](const Placed& x, const Placed& y) { return x.begin < y.begin; }),
        p);
    plan.offsets[b] = offset;
    plan.pool_bytes = std::max(plan.pool_bytes, p.end);
  }
  return plan;
}

}  // namespace rueda
