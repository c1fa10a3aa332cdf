#pragma once

#include <algorithm>
#include <cstddef>

#include "base/host_device.hpp"
#include "base/split.hpp"

// The order in which squares are added, in double, so that every device gets the same bits: an
// array is cut from its beginning into pieces; of a piece lane j adds the elements j, j +
// kSquareLanes, ..., then the lanes are added in halves; the sums of the pieces are added in the
// same way.

namespace rueda::kernels {

inline constexpr std::size_t kSquareLanes = 32;
inline constexpr std::size_t kMostSquarePieces = 32768;  ///< of one array

/// Elements of a piece of an array of `count`.
constexpr std::size_t square_piece(std::size_t count) noexcept {
  constexpr std::size_t kUsual = 32 * kSquareLanes;
  return std::max(kUsual, pieces(pieces(count, kMostSquarePieces), kSquareLanes) * kSquareLanes);
}

/// The product is exact in double, so it does not matter whether a device contracts this.
RUEDA_HOST_DEVICE inline double square(float value) { return double(value) * double(value); }

/// What a part with `images` adds to StepSums::part_squares.
RUEDA_HOST_DEVICE inline float part_squares(double sum, float images) {
  return float(sum / double(images));
}

/// The sum of value(i) for i below `count`, in the order of the lanes.
template <typename Value>
double lane_sum(std::size_t count, const Value& value) {
  double lanes[kSquareLanes] = {};
  const std::size_t whole = count / kSquareLanes * kSquareLanes;
  for (std::size_t i = 0; i < whole; i += kSquareLanes)
    for (std::size_t j = 0; j < kSquareLanes; ++j) lanes[j] += value(i + j);
  for (std::size_t i = whole; i < count; ++i) lanes[i - whole] += value(i);
  for (std::size_t half = kSquareLanes / 2; half > 0; half /= 2)
    for (std::size_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  return lanes[0];
}

}  // namespace rueda::kernels
