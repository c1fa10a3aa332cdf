#pragma once

// The transforms of Winograd's algorithm, of numbers or of vectors of them.

namespace rueda::cpu::winograd {

inline constexpr int kTile = 4;                  ///< outputs along a side of a tile
inline constexpr int kKernel = 3;                ///< weights along a side
inline constexpr int kPatch = 6;                 ///< inputs along a side, with what the kernel adds
inline constexpr int kPoints = kPatch * kPatch;  ///< products of a tile

// Polynomials are known by their values at 0, a, -a, b, -b and infinity. These are exact
// in fp32, and round less than the paper's 1 and 2.
inline constexpr float kA = 0.625F, kB = 1.5F, kA2 = kA * kA, kB2 = kB * kB, kA2B2 = kA2 * kB2;
// 1 / the product of a point's distances to the other finite ones.
inline constexpr float kShare0 = 1 / kA2B2, kShareA = 1 / (2 * kA2 * (kA2 - kB2)),
                       kShareB = 1 / (2 * kB2 * (kB2 - kA2));

/// Numbers of a row or column, `step` apart.
template <typename V>
struct Line {
  V* first;
  int step;
  V& operator[](int i) const { return first[i * step]; }
};

/// y at a, -a, b and -b, from the sums of the even and of the odd powers.
template <typename V>
void set_points(const Line<V>& y, const V& even_a, const V& odd_a, const V& even_b,
                const V& odd_b) {
  y[1] = even_a + odd_a;
  y[2] = even_a - odd_a;
  y[3] = even_b + odd_b;
  y[4] = even_b - odd_b;
}

// One side of each transform: y = matrix x.

/// B transposed.
struct FromInput {
  static constexpr int kFrom = kPatch, kTo = kPatch;
  template <typename V>
  static void apply(const Line<const V>& x, const Line<V>& y) {
    y[0] = kA2B2 * x[0] - (kA2 + kB2) * x[2] + x[4];
    set_points(y, x[4] - kB2 * x[2], kA * (x[3] - kB2 * x[1]), x[4] - kA2 * x[2],
               kB * (x[3] - kA2 * x[1]));
    y[5] = kA2B2 * x[1] - (kA2 + kB2) * x[3] + x[5];
  }
};

/// G.
struct FromWeights {
  static constexpr int kFrom = kKernel, kTo = kPatch;
  template <typename V>
  static void apply(const Line<const V>& x, const Line<V>& y) {
    y[0] = kShare0 * x[0];
    set_points(y, kShareA * (x[0] + kA2 * x[2]), kShareA * kA * x[1], kShareB * (x[0] + kB2 * x[2]),
               kShareB * kB * x[1]);
    y[5] = x[2];
  }
};

/// A transposed.
struct ToOutput {
  static constexpr int kFrom = kPatch, kTo = kTile;
  template <typename V>
  static void apply(const Line<const V>& x, const Line<V>& y) {
    const V sum_a = x[1] + x[2], sum_b = x[3] + x[4];
    const V difference_a = x[1] - x[2], difference_b = x[3] - x[4];
    y[0] = x[0] + sum_a + sum_b;
    y[1] = kA * difference_a + kB * difference_b;
    y[2] = kA2 * sum_a + kB2 * sum_b;
    y[3] = kA * kA2 * difference_a + kB * kB2 * difference_b + x[5];
  }
};

/// A: the gradient of ToOutput.
struct FromOutputGradient {
  static constexpr int kFrom = kTile, kTo = kPatch;
  template <typename V>
  static void apply(const Line<const V>& x, const Line<V>& y) {
    y[0] = x[0];
    set_points(y, x[0] + kA2 * x[2], kA * (x[1] + kA2 * x[3]), x[0] + kB2 * x[2],
               kB * (x[1] + kB2 * x[3]));
    y[5] = x[3];
  }
};

/// G transposed: the gradient of FromWeights.
struct ToWeightGradient {
  static constexpr int kFrom = kPatch, kTo = kKernel;
  template <typename V>
  static void apply(const Line<const V>& x, const Line<V>& y) {
    const V sum_a = kShareA * (x[1] + x[2]), sum_b = kShareB * (x[3] + x[4]);
    y[0] = kShare0 * x[0] + sum_a + sum_b;
    y[1] = kShareA * kA * (x[1] - x[2]) + kShareB * kB * (x[3] - x[4]);
    y[2] = kA2 * sum_a + kB2 * sum_b + x[5];
  }
};

/// A square of kFrom x kFrom vectors to one of kTo x kTo: matrix x square x matrix transposed.
template <typename Transform, typename V>
void transform(const V* from, V* to) {
  constexpr int kFrom = Transform::kFrom, kTo = Transform::kTo;
  V half[kTo * kFrom];
#pragma GCC unroll 6
  for (int column = 0; column < kFrom; ++column)
    Transform::template apply<V>({from + column, kFrom}, {half + column, kFrom});
#pragma GCC unroll 6
  for (int row = 0; row < kTo; ++row)
    Transform::template apply<V>({half + row * kFrom, 1}, {to + row * kTo, 1});
}

}  // namespace rueda::cpu::winograd
