#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "host_reduce_device.hpp"
#include "mpi/session/communicator.hpp"
#include "mpi_check.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "values.hpp"

namespace rueda::test {

/// Lengths at which cutting into `size` chunks can go wrong, and some of no special kind.
inline std::vector<std::size_t> lengths_for(int size) {
  const auto ranks = std::size_t(size);
  return {0, 1, ranks - 1, ranks, ranks + 1, 2, 3, 7, 13, 101, 1000, 4099, 100003};
}

/// Whether `reduce` sums whole numbers exactly. The slice is the product of queued work on
/// `device`, so it is right only if the all-reduce waits for `ready`.
inline bool sums_exactly(AllReduce& reduce, ReduceDevice& device, const RankGroup& group,
                         std::size_t length) {
  const auto values = filled<whole_value>(group.rank(), length);
  std::vector<float> slice(length, 1e6f);
  device.copy(slice, values);
  device.wait(reduce.sum(slice, device.record()));
  for (std::size_t i = 0; i < length; ++i) {
    if (slice[i] != whole_sum(group.size(), i)) return false;
  }
  return true;
}

/// The sum over ranks of rough values, for which the order of addition shows in the bits.
inline std::vector<float> rough_sum(AllReduce& reduce, ReduceDevice& device, int rank,
                                    std::size_t length) {
  auto slice = filled<rough_value>(rank, length);
  device.wait(reduce.sum(slice, device.record()));
  return slice;
}

/// Whether the two differ by no more than the rounding of a sum over `size` rough values.
inline bool close_to(const std::vector<float>& a, const std::vector<float>& b, int size) {
  const float tolerance = float(size * size) * 256.0f * 0x1p-24f;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](float x, float y) {
    return x - y <= tolerance && y - x <= tolerance;  // false for NaN
  });
}

}  // namespace rueda::test
