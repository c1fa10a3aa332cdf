#include <catch2/catch.hpp>

#include "rueda/optim/sgd.hpp"
#include "tests/support/backend_under_test.hpp"
#include "tests/support/device_values.hpp"
#include "tests/support/random_tensor.hpp"

namespace rueda::test {
namespace {

TEST_CASE("sgd: slices give the same bits as the whole arena", "[backend][optim]") {
  const auto backend = open_backend_under_test();
  const Sgd::Options options{.momentum = 0.9, .weight_decay = 1e-4, .nesterov = true};
  Sgd whole(*backend, 100, options);
  Sgd sliced(*backend, 100, options);
  const DeviceFloats a(*backend, to_floats(random_vector(1, 100)));
  const DeviceFloats b(*backend, a.read());
  for (std::uint64_t step = 0; step < 3; ++step) {
    const DeviceFloats g(*backend, to_floats(random_vector(2 + step, 100)));
    whole.update(a.span(), g.span(), 0, 0.1);
    const std::span<float> values = b.span();
    const std::span<const float> gradients = g.span();
    sliced.update(values.subspan(37), gradients.subspan(37), 37, 0.1);
    sliced.update(values.first(37), gradients.first(37), 0, 0.1);
  }
  CHECK(a.read() == b.read());
  CHECK(read_floats(*backend, whole.velocities()) == read_floats(*backend, sliced.velocities()));
}

TEST_CASE("sgd: options reach the update", "[backend][optim]") {
  const auto backend = open_backend_under_test();
  const auto after_two_steps = [&](const Sgd::Options& options) {
    Sgd sgd(*backend, 1, options);
    const DeviceFloats value(*backend, {1.0F});
    const DeviceFloats first(*backend, {0.5F});
    const DeviceFloats second(*backend, {-1.0F});
    sgd.update(value.span(), first.span(), 0, 0.125);
    sgd.update(value.span(), second.span(), 0, 0.125);
    return value.read().front();
  };
  CHECK(after_two_steps({.momentum = 0}) == 1.0625F);
  CHECK(after_two_steps({.momentum = 0.5}) == 1.03125F);
  CHECK(after_two_steps({.momentum = 0.5, .weight_decay = 0.25}) == 0.9560546875F);
  CHECK(after_two_steps({.momentum = 0.5, .weight_decay = 0.25, .nesterov = true}) ==
        0.983154296875F);
}

}  // namespace
}  // namespace rueda::test
