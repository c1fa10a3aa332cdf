#pragma once

#include <cmath>

#include "base/host_device.hpp"

namespace rueda::kernels {

/// One channel of a batch normalisation, as its elements need it. Aligned so
/// that a device reads it at once.
struct alignas(16) NormChannel {
  float mean = 0;
  float inverse_deviation = 0;  ///< 1 / sqrt(biased variance + epsilon)
  float gamma = 0;
  float beta = 0;
};

RUEDA_HOST_DEVICE inline float inverse_deviation(float variance, float epsilon) {
  return 1.0F / std::sqrt(variance + epsilon);
}

RUEDA_HOST_DEVICE inline float standardised(float x, const NormChannel& c) {
  return (x - c.mean) * c.inverse_deviation;
}

/// Forward and the ReLU mask of backward use this one expression, so they agree to the last bit.
RUEDA_HOST_DEVICE inline float normalised(float x, const NormChannel& c) {
  return standardised(x, c) * c.gamma + c.beta;
}

/// What backward needs to know of a whole channel: means over its values of the
/// output's gradient and of its product with the standardised input.
struct NormGradientMeans {
  float gradient = 0;
  float product = 0;
};

/// The gradient of one input: Ioffe and Szegedy, ICML 2015, section 3, with the
/// batch's own statistics.
RUEDA_HOST_DEVICE inline float norm_input_gradient(float x, float gradient, const NormChannel& c,
                                                   const NormGradientMeans& means) {
  return c.gamma * c.inverse_deviation *
         (gradient - means.gradient - standardised(x, c) * means.product);
}

/// A NaN passes: a run that went wrong must show it.
RUEDA_HOST_DEVICE inline float relu(float x) { return x <= 0.0F ? 0.0F : x; }

/// The gradient passes where the ReLU's output was positive.
RUEDA_HOST_DEVICE inline float relu_gradient(float output, float gradient) {
  return output > 0.0F ? gradient : 0.0F;
}

/// m / (m - 1), which makes a variance over m values unbiased; 1 where there is nothing to correct.
RUEDA_HOST_DEVICE inline float bessel(float m) {
  if (m > 1.0F) return m / (m - 1.0F);
  return 1.0F;
}

/// What one micro-batch contributes to the step's batch statistics: its own
/// statistic weighted by its samples. `correction` is 1, or m/(m-1) for an
/// unbiased variance over m values per channel.
RUEDA_HOST_DEVICE inline float weighted_statistic(float statistic, float samples,
                                                  float correction) {
  return statistic * correction * samples;
}

/// The running statistic after a step in which the contributions of all
/// micro-batches summed to `weighted_sum` over `samples` samples.
RUEDA_HOST_DEVICE inline float updated_running(float running, float weighted_sum, float samples,
                                               float momentum) {
  return momentum * running + (1.0F - momentum) * (weighted_sum / samples);
}

}  // namespace rueda::kernels
