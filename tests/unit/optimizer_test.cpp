#include <cmath>

#include <catch2/catch.hpp>

#include "../support/random_tensor.hpp"
#include "cpu_backend.hpp"
#include "rueda/optim/schedule.hpp"
#include "rueda/optim/sgd.hpp"

namespace rueda::test {
namespace {

TEST_CASE("sgd: slices give the same bits as the whole arena", "[optim]") {
  cpu::CpuBackend backend({.threads = 1, .layout = std::nullopt});
  const Sgd::Options options{.momentum = 0.9, .weight_decay = 1e-4, .nesterov = true};
  Sgd whole(backend, 100, options);
  Sgd sliced(backend, 100, options);
  std::vector<float> a = to_floats(random_vector(1, 100));
  std::vector<float> b = a;
  for (std::uint64_t step = 0; step < 3; ++step) {
    const std::vector<float> g = to_floats(random_vector(2 + step, 100));
    whole.update(a, g, 0, 0.1);
    const std::span<float> values(b);
    const std::span<const float> gradients(g);
    sliced.update(values.subspan(37), gradients.subspan(37), 37, 0.1);
    sliced.update(values.first(37), gradients.first(37), 0, 0.1);
  }
  CHECK(a == b);
  CHECK(to_doubles(whole.velocities()) == to_doubles(sliced.velocities()));
}

TEST_CASE("sgd: options reach the update", "[optim]") {
  cpu::CpuBackend backend({.threads = 1, .layout = std::nullopt});
  const auto after_two_steps = [&](const Sgd::Options& options) {
    Sgd sgd(backend, 1, options);
    std::vector<float> value = {1.0F};
    sgd.update(value, std::vector<float>{0.5F}, 0, 0.125);
    sgd.update(value, std::vector<float>{-1.0F}, 0, 0.125);
    return value.front();
  };
  CHECK(after_two_steps({.momentum = 0}) == 1.0625F);
  CHECK(after_two_steps({.momentum = 0.5}) == 1.03125F);
  CHECK(after_two_steps({.momentum = 0.5, .weight_decay = 0.25}) == 0.9560546875F);
  CHECK(after_two_steps({.momentum = 0.5, .weight_decay = 0.25, .nesterov = true}) ==
        0.983154296875F);
}

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
}  // namespace rueda::test
