#pragma once

#include <cmath>

#include "base/host_device.hpp"

namespace rueda::kernels {

struct RowLoss {
  float loss = 0;
  bool correct = false;  ///< the label has the largest logit (the first of equals)
};

/// Softmax cross entropy of one row of logits, stable by subtracting the
/// largest, with smoothed labels (Szegedy et al., CVPR 2016, section 7): a row's target is
/// smoothing / classes for each class, and 1 - smoothing more for its label. If
/// `gradient` is not null it receives scale * (softmax - target), the gradient
/// of scale * loss.
RUEDA_HOST_DEVICE inline RowLoss softmax_cross_entropy_row(const float* logits, int classes,
                                                           int label, float smoothing, float scale,
                                                           float* gradient) {
  int best = 0;
  for (int k = 1; k < classes; ++k) {
    if (logits[k] > logits[best]) best = k;
  }
  float sum = 0.0F;
  for (int k = 0; k < classes; ++k) sum += std::exp(logits[k] - logits[best]);
  const float even = smoothing / float(classes);
  const float certain = 1.0F - smoothing;
  if (gradient != nullptr) {
    for (int k = 0; k < classes; ++k) {
      const float probability = std::exp(logits[k] - logits[best]) / sum;
      gradient[k] = (probability - (float(k == label) * certain + even)) * scale;
    }
  }
  float expected = logits[label] - logits[best];  // the logit, by the target
  if (smoothing > 0.0F) {                         // else one of minus infinity would make it NaN
    expected *= certain;
    for (int k = 0; k < classes; ++k) expected += even * (logits[k] - logits[best]);
  }
  return {std::log(sum) - expected, best == label};
}

}  // namespace rueda::kernels
