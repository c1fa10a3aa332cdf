#pragma once

#include <chrono>

namespace rueda {

using SteadyTime = std::chrono::steady_clock::time_point;

/// Seconds on this machine's steady clock, whose zero is its own.
inline double steady_seconds(SteadyTime time = std::chrono::steady_clock::now()) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace rueda
