#include "rueda/optim/schedule.hpp"

#include <cmath>

#include <catch2/catch.hpp>

namespace rueda {
namespace {

ScheduleOptions options_of(LrSchedule schedule, double warmup_epochs) {
  return {.base_rate = 0.8,
          .schedule = schedule,
          .warmup_epochs = warmup_epochs,
          .epochs = 8,
          .steps_per_epoch = 10};
}

TEST_CASE("schedule: warm-up rises linearly to the base rate", "[optim]") {
  const ScheduleOptions o = options_of(LrSchedule::constant, 2);
  CHECK(learning_rate(o, 0) == Approx(0.04));
  CHECK(learning_rate(o, 9) == Approx(0.4));
  CHECK(learning_rate(o, 19) == Approx(0.8));
  CHECK(learning_rate(o, 20) == Approx(0.8));
  CHECK(learning_rate(options_of(LrSchedule::constant, 0), 0) == Approx(0.8));
  CHECK(learning_rate(options_of(LrSchedule::constant, 0.25), 2) == Approx(0.8));
}

TEST_CASE("schedule: steps fall at half and three quarters of the run", "[optim]") {
  const ScheduleOptions o = options_of(LrSchedule::step, 0);
  CHECK(learning_rate(o, 39) == Approx(0.8));
  CHECK(learning_rate(o, 40) == Approx(0.08));
  CHECK(learning_rate(o, 59) == Approx(0.08));
  CHECK(learning_rate(o, 60) == Approx(0.008));
  CHECK(learning_rate(o, 79) == Approx(0.008));
}

TEST_CASE("schedule: the cosine falls from the end of the warm-up", "[optim]") {
  const ScheduleOptions o = options_of(LrSchedule::cosine, 2);
  CHECK(learning_rate(o, 20) == Approx(0.8));
  CHECK(learning_rate(o, 50) == Approx(0.4));
  CHECK(learning_rate(o, 35) == Approx(0.4 * (1 + std::sqrt(0.5))));
  CHECK(learning_rate(o, 79) < 0.01);
  CHECK(learning_rate(o, 79) > 0);
}

}  // namespace
}  // namespace rueda
