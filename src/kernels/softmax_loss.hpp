#pragma once

#include <cmath>

#include "base/host_device.hpp"

namespace rueda::kernels {

struct RowLoss {
  float loss = 0;
  bool correct = false;  ///< the label has the largest logit (the first of equals)
};

/// Softmax cross entropy of one row of logits, stable by subtracting the
/// largest. If `gradient` is not null it receives scale * (softmax - one_hot),
/// the gradient of scale * loss.
RUEDA_HOST_DEVICE inline RowLoss softmax_cross_entropy_row(const float* logits, int classes,
                                                           int label, float scale,
                                                           float* gradient) {
  int best = 0;
  for (int k = 1; k < classes; ++k) {
    if (logits[k] > logits[best]) best = k;
  }
  float sum = 0.0F;
  for (int k = 0; k < classes; ++k) sum += std::exp(logits[k] - logits[best]);
  if (gradient != nullptr) {
    for (int k = 0; k < classes; ++k) {
      const float probability = std::exp(logits[k] - logits[best]) / sum;
      gradient[k] = (probability - float(k == label)) * scale;
    }
  }
  return {std::log(sum) - (logits[label] - logits[best]), best == label};
}

}  // namespace rueda::kernels
