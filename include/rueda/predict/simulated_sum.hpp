#pragma once

#include <cstddef>
#include <cstdint>

#include "forecast.hpp"

namespace rueda::predict {

/// One sum on a noisy ring, beside the closed form; seconds.
struct SimulatedSum {
  std::size_t ranks = 1;
  double bytes = 0;
  double closed = 0;      ///< by the closed form
  double quiet = 0;       ///< simulated without noise
  double noisy = 0;       ///< simulated, mean over rings
  std::size_t rings = 0;  ///< with noise

  /// By what share messages took longer than without noise; 0 on one rank. `gamma`: seconds for
  /// each byte added, which no noise prolongs.
  double delay(double gamma) const noexcept;
};

/// The largest bucket of the model on a ring whose every link is as slow as the slowest. Small
/// rings are simulated up to 1000 times, large ones once.
SimulatedSum simulate_sum(const CostModel& model, std::size_t ranks, std::uint64_t seed);

}  // namespace rueda::predict
