#pragma once

#include "base/host_device.hpp"

namespace rueda::kernels {

struct SgdStep {
  float learning_rate = 0;
  float momentum = 0;
  float weight_decay = 0;
  bool nesterov = false;
  float gradient_rate = 1;  ///< what a gradient is multiplied by before it enters the velocity
};

/// Stochastic gradient descent on one parameter, in the form of Sutskever et al. (ICML 2013) that
/// PyTorch uses: the learning rate stands outside the velocity, so changing it leaves the past as
/// it is. Weight decay is an L2 term of the gradient.
///   g' = gradient_rate (g + decay w);  v = momentum v + g';
///   w = w - rate (nesterov ? g' + momentum v : v)
RUEDA_HOST_DEVICE inline void sgd_update(float& value, float& velocity, float gradient,
                                         const SgdStep& s) {
  const float g = s.gradient_rate * (gradient + s.weight_decay * value);
  velocity = s.momentum * velocity + g;
  const float direction = s.nesterov ? g + s.momentum * velocity : velocity;
  value = value - s.learning_rate * direction;
}

}  // namespace rueda::kernels
