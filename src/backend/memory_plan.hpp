#pragma once

#include <cstddef>
#include <vector>

namespace rueda {

/// Moments of a step, both included; empty if `last` comes before `first`.
struct Interval {
  int first = 0;
  int last = -1;
  bool meets(const Interval& other) const noexcept {
    return first <= last && other.first <= other.last && first <= other.last && other.first <= last;
  }
};

/// When a buffer must exist: from `first` to `last`, and `again` if its
/// contents are made a second time later. In between it lies at the same place,
/// which others may use.
struct BufferLife {
  std::size_t bytes = 0;
  int first = 0;
  int last = 0;
  Interval again = {};
  bool meets(const BufferLife& other) const noexcept {
    const Interval mine{first, last};
    const Interval theirs{other.first, other.last};
    return mine.meets(theirs) || mine.meets(other.again) || again.meets(theirs) ||
           again.meets(other.again);
  }
};

/// Where each buffer lies in one pool.
struct MemoryPlan {
  std::vector<std::size_t> offsets;  ///< in bytes, one per buffer, multiples of kBufferAlignment
  std::size_t pool_bytes = 0;
};

inline constexpr std::size_t kBufferAlignment = 64;

/// `bytes`, rounded up to a multiple of the alignment.
constexpr std::size_t aligned_bytes(std::size_t bytes,
                                    std::size_t alignment = kBufferAlignment) noexcept {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Lays buffers into one pool so that those that live at the same time never
/// overlap and others reuse memory: largest first, each at the lowest gap that
/// fits ("greedy by size" of Pisarchyk and Lee, arXiv 2001.03288).
/// Deterministic.
MemoryPlan plan_memory(const std::vector<BufferLife>& buffers);

}  // namespace rueda
