#include "rueda/optim/schedule.hpp"

#include <cmath>
#include <numbers>

namespace rueda {
namespace {

double step_decay(double progress) {
  if (progress >= 0.75) return 0.01;
  return progress >= 0.5 ? 0.1 : 1.0;
}

}  // namespace

double learning_rate(const ScheduleOptions& o, std::size_t step) {
  const double steps = double(o.epochs * o.steps_per_epoch);
  const double warmup = o.warmup_epochs * double(o.steps_per_epoch);
  const double now = double(step);
  if (now < warmup) return o.base_rate * (now + 1.0) / std::ceil(warmup);
  switch (o.schedule) {
    case LrSchedule::constant:
      return o.base_rate;
    case LrSchedule::step:
      return o.base_rate * step_decay(now / steps);
    case LrSchedule::cosine: {
      const double progress = (now - warmup) / (steps - warmup);
      return o.base_rate * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
    }
  }
  return o.base_rate;
}

}  // namespace rueda
