#pragma once

#include <cmath>

#include "base/host_device.hpp"
#include "kernels/sgd.hpp"

// LARS: You, Gitman and Ginsburg, Large Batch Training of Convolutional Networks,
// arXiv 1708.03888, algorithm 1.

namespace rueda::kernels {

struct LarsStep {
  SgdStep sgd;
  double trust = 0;    ///< the coefficient of the trust ratio, eta
  double epsilon = 0;  ///< added to its denominator
};

/// How a step changes one tensor, given the sums of the squares of its values and gradients. One
/// that is not adapted has neither a rate of its own nor weight decay.
///   ratio = trust |w| / (|g| + decay |w| + epsilon);  v = momentum v + rate ratio (g + decay w);
///   w = w - v
/// The ratio is 1 where |w| or |g| is 0. In double, so every device gets the same bits.
RUEDA_HOST_DEVICE inline SgdStep lars_step(const LarsStep& s, bool adapted, double value_squares,
                                           double gradient_squares) {
  SgdStep own = s.sgd;
  own.gradient_rate = s.sgd.learning_rate;
  own.learning_rate = 1;
  if (!adapted) {
    own.weight_decay = 0;
    return own;
  }
  const double value_norm = std::sqrt(value_squares);
  const double gradient_norm = std::sqrt(gradient_squares);
  if (!(value_norm > 0 && gradient_norm > 0)) return own;
  const double decay = double(s.sgd.weight_decay) * value_norm;
  const double ratio = s.trust * value_norm / (gradient_norm + decay + s.epsilon);
  own.gradient_rate = float(double(s.sgd.learning_rate) * ratio);
  return own;
}

}  // namespace rueda::kernels
