#pragma once

#include "rueda/core/host_device.hpp"

namespace rueda::kernels {

/// A NaN passes: a run that went wrong must show it.
RUEDA_HOST_DEVICE inline float relu(float x) { return x <= 0.0F ? 0.0F : x; }

/// The gradient passes where the ReLU's output was positive.
RUEDA_HOST_DEVICE inline float relu_gradient(float output, float gradient) {
  return output > 0.0F ? gradient : 0.0F;
}

}  // namespace rueda::kernels
