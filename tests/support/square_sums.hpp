#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tests/support/values.hpp"

namespace rueda::test {

/// The order of kernels/square_sum.hpp, spelled out: 32 lanes, halves of them added.
inline double sum_of_32_lanes(std::span<const double> values) {
  std::vector<double> lanes(32, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) lanes[i % 32] = lanes[i % 32] + values[i];
  while (lanes.size() > 1) {
    for (std::size_t j = 0; j < lanes.size() / 2; ++j)
      lanes[j] = lanes[j] + lanes[j + lanes.size() / 2];
    lanes.resize(lanes.size() / 2);
  }
  return lanes.front();
}

/// The sum of squares in this order, in pieces of `piece` elements.
inline double ordered_square_sum(std::span<const float> values, std::size_t piece = 1024) {
  std::vector<double> sums;
  for (std::size_t begin = 0; begin < values.size(); begin += piece) {
    std::vector<double> squares;
    for (std::size_t i = begin; i < values.size() && i < begin + piece; ++i)
      squares.push_back(double(values[i]) * double(values[i]));
    sums.push_back(sum_of_32_lanes(squares));
  }
  return sum_of_32_lanes(sums);
}

/// The sum itself, nearly without rounding.
inline double exact_square_sum(std::span<const float> values) {
  long double sum = 0;
  for (const float value : values) sum += static_cast<long double>(value) * value;
  return double(sum);
}

/// Ends of ranges around all lengths at which the order changes, empty ones too; more than one
/// launch of the kernel takes.
inline std::vector<std::size_t> square_ends() {
  std::vector<std::size_t> ends;
  std::size_t end = 0;
  const auto add = [&](std::size_t length) { ends.push_back(end += length); };
  for (const std::size_t length : {0U, 1U, 31U, 32U, 33U, 0U, 1023U, 1024U, 1025U, 33001U, 70001U})
    add(length);
  for (std::size_t i = 0; i < 200; ++i) add(i % 7);
  return ends;
}

}  // namespace rueda::test
