#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "cuda/kernels/launch.cuh"

// One launch for many slices of arrays, however their lengths differ.

namespace rueda::cuda {

/// The last of `size` ascending numbers that is not above `value`; the first is not.
__device__ inline unsigned last_not_above(const unsigned* numbers, unsigned size, unsigned value) {
  unsigned from = 0;
  for (unsigned to = size; to - from > 1;) {
    const unsigned middle = (from + to) / 2;
    if (numbers[middle] <= value)
      from = middle;
    else
      to = middle;
  }
  return from;
}

/// The threads of neighbouring blocks, as GridThreads are those of a grid.
struct BlockThreads {
  unsigned first_block;
  unsigned blocks;

  __device__ std::size_t first() const {
    return std::size_t(blockIdx.x - first_block) * blockDim.x + threadIdx.x;
  }
  __device__ std::size_t stride() const { return std::size_t(blocks) * blockDim.x; }
};

/// Slices, as a kernel takes them by value: as many as parameters have room for. Each that is not
/// empty has blocks of its own. `One` has `begin` and `count`.
template <typename One>
struct SliceBlocks {
  static constexpr std::size_t kMost = 3600 / (sizeof(One) + sizeof(unsigned));
  unsigned size = 0;
  unsigned blocks = 0;
  unsigned first_block[kMost];
  One at[kMost];

  /// With a block for each `elements`.
  void add(const One& slice, std::size_t elements) {
    first_block[size] = blocks;
    at[size++] = slice;
    blocks += unsigned(std::min(pieces(slice.count, elements), kMaxBlocks));
  }
  /// This block's slice.
  __device__ unsigned mine() const { return last_not_above(first_block, size, blockIdx.x); }
  /// The threads of slice `k`.
  __device__ BlockThreads threads(unsigned k) const {
    const unsigned end = k + 1 < size ? first_block[k + 1] : blocks;
    return {first_block[k], end - first_block[k]};
  }
};

/// body.run<width, packs> for the elements of slice `k`, in packs that begin at element `before` of
/// the arrays.
template <int width, typename One, typename Body>
__device__ void run_slice(const SliceBlocks<One>& slices, unsigned k, std::size_t before,
                          const Body& body) {
  const std::size_t count = slices.at[k].count;
  const std::size_t own = (before - slices.at[k].begin) % width;
  run_packs<width>(slices.threads(k), count, own < count ? own : count, body);
}

/// queue(slices, first): for as many as fit a launch at a time, the first of them being slice
/// `first`. So many blocks for each that a thread takes `packs` of `width` once.
template <typename One, typename F>
void for_slices(std::span<const One> all, int width, int packs, const F& queue) {
  SliceBlocks<One> some;
  std::size_t first = 0;
  const auto flush = [&] {
    if (some.blocks > 0) queue(some, first);
    first += some.size;
    some.size = some.blocks = 0;
  };
  for (const One& slice : all) {
    if (some.size == some.kMost) flush();
    some.add(slice, std::size_t{kBlockThreads} * unsigned(width * packs));
  }
  flush();
}

}  // namespace rueda::cuda
