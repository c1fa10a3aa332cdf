#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>

#include "rueda/train/config.hpp"

namespace rueda {

struct ScheduleOptions {
  double base_rate = 0.1;  ///< after scaling by the global batch
  LrSchedule schedule = LrSchedule::constant;
  double warmup_epochs = 0;  ///< the rate rises linearly over them, step by step
  std::size_t epochs = 1;
  std::size_t steps_per_epoch = 1;
};

/// The learning rate of step `step` (from 0, counted over the whole run). Warm-up comes first
/// (Goyal et al., arXiv 1706.02677, section 2.2), then one of
///   constant  base
///   step      base, a tenth of it from half of the run on, a hundredth from three quarters on
///             (He et al., CVPR 2016, section 4.2)
///   cosine    base * (1 + cos(pi * progress)) / 2, down to 0 (Loshchilov and Hutter, ICLR 2017),
///             progress counted from the end of the warm-up
inline double learning_rate(const ScheduleOptions& o, std::size_t step) {
  const double steps = double(o.epochs * o.steps_per_epoch);
  const double warmup = o.warmup_epochs * double(o.steps_per_epoch);
  const double now = double(step);
  if (now < warmup) return o.base_rate * (now + 1.0) / std::ceil(warmup);
  if (o.schedule == LrSchedule::constant) return o.base_rate;
  if (o.schedule == LrSchedule::cosine) {
    const double progress = (now - warmup) / (steps - warmup);
    return o.base_rate * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  }
  const double progress = now / steps;
  if (progress >= 0.75) return o.base_rate * 0.01;
  if (progress >= 0.5) return o.base_rate * 0.1;
  return o.base_rate;
}

}  // namespace rueda
