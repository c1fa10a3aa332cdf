#pragma once

#include <cstddef>
#include <span>

namespace rueda {

/// A tensor of a slice of the parameters.
struct LarsTensor {
  std::size_t begin = 0;  ///< in the slice, in floats
  std::size_t count = 0;
  bool adapted = false;  ///< has a rate of its own; else neither that nor weight decay
};

/// What LARS updates: slices of three arenas, of the same place and length, with their tensors.
struct LarsSlice {
  std::span<float> values;
  std::span<float> velocities;
  std::span<const float> gradients;
  std::span<const LarsTensor> tensors;  ///< the host's
  /// By tensor, as Backend::square_sums has written them.
  std::span<const double> value_squares;
  std::span<const double> gradient_squares;
};

}  // namespace rueda
