#pragma once

#include <cstdint>

#include "base/host_device.hpp"

namespace rueda::kernels {

/// Lets `candidate`, at `place` of the window, replace the largest value so far
/// if it is larger; of equals the first stays. A NaN wins and stays: a run that
/// went wrong must show it.
RUEDA_HOST_DEVICE inline void take_larger(float& largest, std::int32_t& winner, float candidate,
                                          std::int32_t place) {
  const bool takes = !(candidate <= largest) && largest == largest;
  largest = takes ? candidate : largest;
  winner = takes ? place : winner;
}

/// The outputs first ... end - 1 along one axis whose windows cover an input.
struct CoveringWindows {
  int first = 0;
  int end = 0;
};

RUEDA_HOST_DEVICE inline CoveringWindows windows_over(int input, int kernel, int stride,
                                                      int padding, int outputs) {
  const int beyond = input + padding - kernel + 1;  // where the first of them would have to begin
  // With branches in place of these, nvcc keeps fewer loads in flight.
  const int first = beyond <= 0 ? 0 : (beyond + stride - 1) / stride;
  const int end = (input + padding) / stride + 1;
  return {first, end < outputs ? end : outputs};
}

}  // namespace rueda::kernels
