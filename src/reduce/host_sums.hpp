#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bfloat16.hpp"
#include "base/element_hash.hpp"
#include "base/split.hpp"

namespace rueda {

// A device's loops for a wire of bf16 and for checked messages, on elements
// begin ... end-1, and for sums of several arrays. The calling thread does them
// alone.

inline void narrow_part(std::span<kernels::Bfloat16> to, std::span<const float> from,
                        std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) to[i] = kernels::from_float<kernels::Bfloat16>(from[i]);
}

inline void add_narrow_part(std::span<float> into, std::span<const kernels::Bfloat16> from,
                            std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) into[i] = into[i] + kernels::to_float(from[i]);
}

inline void widen_part(std::span<float> to, std::span<const kernels::Bfloat16> from,
                       std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) to[i] = kernels::to_float(from[i]);
}

inline std::uint64_t check_part(std::span<const float> values, std::size_t begin, std::size_t end) {
  std::uint64_t sum = 0;
  const float* v = values.data();
  for (std::size_t i = begin; i < end; ++i) sum += kernels::message_check(i, v[i]);
  return sum;
}

namespace tree_sum_detail {

/// Floats that are summed at a time: partial sums stay in the processor's first cache.
inline constexpr std::size_t kBlock = 1024;
using Block = std::array<float, kBlock>;

inline void add(float* __restrict to, const float* __restrict a, const float* __restrict b,
                std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}

inline void add_to(float* __restrict to, const float* __restrict a, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = to[i] + a[i];
}

/// The tree is that of TreeOrder: its left part is the largest power of two
/// below the number of summands. `at` is where the block begins in each source.
inline void sum_block(std::span<const float* const> from, std::size_t at, std::size_t count,
                      float* to) {
  if (from.size() == 1) {
    std::copy_n(from[0] + at, count, to);
  } else if (from.size() == 2) {
    add(to, from[0] + at, from[1] + at, count);
  } else {
    const std::size_t left = std::bit_floor(from.size() - 1);
    Block right;
    sum_block(from.first(left), at, count, to);
    sum_block(from.subspan(left), at, count, right.data());
    add_to(to, right.data(), count);
  }
}

}  // namespace tree_sum_detail

/// Adds up arrays in host memory element by element in the order of TreeOrder:
/// to[k][i] for every k and every i of `part` becomes the sum over r of
/// from[r][i]. One pass over memory, by the calling thread alone. A target may
/// be one of the sources; else nothing overlaps.
inline void tree_sum(std::span<const float* const> from, std::span<float* const> to, Range part) {
  using namespace tree_sum_detail;
  Block sum;
  for (std::size_t at = part.begin; at < part.end; at += kBlock) {
    const std::size_t length = std::min(kBlock, part.end - at);
    sum_block(from, at, length, sum.data());
    for (float* target : to) std::copy_n(sum.data(), length, target + at);
  }
}

}  // namespace rueda
