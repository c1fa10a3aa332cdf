#pragma once

#include "rueda/core/host_device.hpp"

namespace rueda::kernels {

/// m / (m - 1), which makes a variance over m values unbiased; 1 where there is nothing to correct.
RUEDA_HOST_DEVICE inline float bessel(float m) { return m > 1.0F ? m / (m - 1.0F) : 1.0F; }

/// What one micro-batch contributes to the step's batch statistics: its own statistic weighted by
/// its samples. `correction` is 1, or m/(m-1) for an unbiased variance over m values per channel.
RUEDA_HOST_DEVICE inline float weighted_statistic(float statistic, float samples,
                                                  float correction) {
  return statistic * correction * samples;
}

/// The running statistic after a step in which the contributions of all micro-batches summed to
/// `weighted_sum` over `samples` samples.
RUEDA_HOST_DEVICE inline float updated_running(float running, float weighted_sum, float samples,
                                               float momentum) {
  return momentum * running + (1.0F - momentum) * (weighted_sum / samples);
}

}  // namespace rueda::kernels
