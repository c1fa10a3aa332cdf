#pragma once

#include <cstddef>
#include <vector>

namespace rueda {

/// A buffer that must exist from the moment `first` to the moment `last` of a step, both included.
struct BufferLife {
  std::size_t bytes = 0;
  int first = 0;
  int last = 0;
};

/// Where each buffer lies in one pool.
struct MemoryPlan {
  std::vector<std::size_t> offsets;  ///< in bytes, one per buffer, multiples of kBufferAlignment
  std::size_t pool_bytes = 0;
};

inline constexpr std::size_t kBufferAlignment = 64;

/// `bytes`, rounded up to a multiple of the alignment.
constexpr std::size_t aligned_bytes(std::size_t bytes) noexcept {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

/// Lays buffers into one pool so that those that live at the same time never overlap and others
/// reuse memory: largest first, each at the lowest gap that fits ("greedy by size" of Pisarchyk and
/// Lee, arXiv 2001.03288). Deterministic.
MemoryPlan plan_memory(const std::vector<BufferLife>& buffers);

}  // namespace rueda
