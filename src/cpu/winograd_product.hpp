#pragma once

#include <cstddef>

#include "cpu/parallel.hpp"

// Products of matrices in registers. Vectors go by address, because how one is passed by
// value depends on the processor.

namespace rueda::cpu::winograd {

template <std::size_t lanes>
struct VectorOf {
  typedef float type __attribute__((vector_size(lanes * sizeof(float)), may_alias));
};
template <std::size_t lanes>
using Vector = typename VectorOf<lanes>::type;

/// A matrix where neighbours along a side are some floats apart.
struct Factor {
  const float* values;
  std::size_t row, column;  ///< steps

  const float* at(std::size_t r, std::size_t c) const { return values + r * row + c * column; }
};

/// Of a register tile: twelve sums, more than two units with a latency of five have under way.
inline constexpr std::size_t kRows = 6, kVectors = 2;

/// Two matrices over `depth`, and where their product goes; `adds` to what is there.
struct TileProduct {
  Factor left, right;  ///< a row's two vectors of `right` lie together
  std::size_t depth;
  float* to;
  std::size_t to_row;  ///< step
  bool adds;
};

/// sum += x * y, rounded once where the processor can.
template <std::size_t lanes>
[[gnu::always_inline]] inline void multiply_add(Vector<lanes>& sum, const Vector<lanes>& x,
                                                const Vector<lanes>& y) {
#if defined(__x86_64__)
  if constexpr (lanes > 4) {
    Vector<lanes> result = sum;  // an operand in an array would keep the array in memory
    asm("vfmadd231ps %2, %1, %0" : "+v"(result) : "v"(x), "v"(y));
    sum = result;
    return;
  }
#endif
  sum += x * y;
}

template <std::size_t lanes>
[[gnu::always_inline]] inline void multiply_in_registers(const TileProduct& p) {
  Vector<lanes> sums[kRows][kVectors] = {};
  for (std::size_t k = 0; k < p.depth; ++k) {
    const auto* x = reinterpret_cast<const Vector<lanes>*>(p.right.at(k, 0));
    const Vector<lanes> x0 = x[0], x1 = x[1];
#pragma GCC unroll 6
    for (std::size_t i = 0; i < kRows; ++i) {
      const Vector<lanes> y = *p.left.at(i, k) - Vector<lanes>{};  // in each lane; - 0 keeps -0
      multiply_add<lanes>(sums[i][0], x0, y);
      multiply_add<lanes>(sums[i][1], x1, y);
    }
  }
#pragma GCC unroll 6
  for (std::size_t i = 0; i < kRows; ++i) {
    auto* to = reinterpret_cast<Vector<lanes>*>(p.to + i * p.to_row);
    if (p.adds) {
      sums[i][0] += to[0];
      sums[i][1] += to[1];
    }
    to[0] = sums[i][0];
    to[1] = sums[i][1];
  }
}

// to = (to +) left x right for kRows rows of two vectors. Each names its instructions, since
// a compiler that does not flatten its caller knows of none.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) inline void multiply_tile(const TileProduct& p, Lanes<16>) {
  multiply_in_registers<16>(p);
}
__attribute__((target("avx2"))) inline void multiply_tile(const TileProduct& p, Lanes<8>) {
  multiply_in_registers<8>(p);
}
#endif
inline void multiply_tile(const TileProduct& p, Lanes<4>) { multiply_in_registers<4>(p); }

}  // namespace rueda::cpu::winograd
