#include <cmath>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "graph_run.hpp"
#include "tests/cuda/device_vector.hpp"
#include "tests/support/values.hpp"

// Batch normalisation forward against its definition, backward against differences of it.

namespace {

using rueda::test::Bound;
using rueda::test::Cudnn;
using rueda::test::Desc;
using rueda::test::DeviceVector;
using rueda::test::filled;
using rueda::test::make_tensor;
using rueda::test::rough_value;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr std::int64_t kChannels = 3;
constexpr std::size_t kSamples = 2 * 4 * 5;
constexpr std::size_t kElements = kSamples * kChannels;
constexpr float kEpsilon = 0.25F;
constexpr float kFactor = 0.125F;

const std::vector<std::int64_t> kDims = {2, kChannels, 4, 5};

enum Id : std::int64_t {
  x_id = 1,
  y_id,
  scale_id,
  bias_id,
  mean_id,
  inv_id,
  epsilon_id,
  factor_id,
  old_mean_id,
  old_variance_id,
  new_mean_id,
  new_variance_id,
};

Desc of_channels(std::int64_t id) { return make_tensor(id, {1, kChannels, 1, 1}); }
Desc by_value(std::int64_t id) {
  return make_tensor(id, {1, 1, 1, 1}, {.is_by_value = true, .strides = {}});
}

Desc make_forward(cudnnBackendNormFwdPhase_t phase) {
  Desc norm(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  norm.set<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE,
                                   {CUDNN_BATCH_NORM})
      .set<cudnnBackendNormFwdPhase_t>(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE,
                                       CUDNN_TYPE_NORM_FWD_PHASE, {phase})
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, {make_tensor(x_id, kDims)})
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, {make_tensor(y_id, kDims)})
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, {of_channels(scale_id)})
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, {of_channels(bias_id)})
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, {of_channels(mean_id)})
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, {of_channels(inv_id)});
  return norm;
}

Desc make_training() {
  return make_forward(CUDNN_NORM_FWD_TRAINING)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, {by_value(epsilon_id)})
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC, {by_value(factor_id)})
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC, {of_channels(old_mean_id)})
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC, {of_channels(old_variance_id)})
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC, {of_channels(new_mean_id)})
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC, {of_channels(new_variance_id)})
      .finish();
}

struct Statistics {
  Doubles mean = Doubles(kChannels);
  Doubles variance = Doubles(kChannels);
};

Statistics statistics_of(const Doubles& x) {
  Statistics s;
  for (std::size_t i = 0; i < x.size(); ++i) s.mean[i % kChannels] += x[i] / kSamples;
  for (std::size_t i = 0; i < x.size(); ++i) {
    s.variance[i % kChannels] += std::pow(x[i] - s.mean[i % kChannels], 2) / kSamples;
  }
  return s;
}

Doubles normalised(const Doubles& x, const Doubles& scale, const Doubles& bias) {
  const Statistics s = statistics_of(x);
  Doubles y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % kChannels;
    y.push_back((x[i] - s.mean[c]) / std::sqrt(s.variance[c] + double{kEpsilon}) * scale[c] +
                bias[c]);
  }
  return y;
}

Doubles wide(const Floats& values) { return Doubles(values.begin(), values.end()); }

void check_near(const Floats& found, const Doubles& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(double{found[i]} == Approx(expected[i]).margin(tolerance));
  }
}

Floats values(int key, std::size_t size) {
  Floats result = filled<rough_value>(key, size);
  for (float& value : result) value /= 64;
  return result;
}

}  // namespace

TEST_CASE("batch normalisation in training is what it should be") {
  const Cudnn cudnn;
  const Floats x = values(1, kElements);
  const Floats scale = values(2, kChannels);
  const Floats bias = values(3, kChannels);
  const Floats zeros(kChannels);
  const auto on_device = [&](const Floats& v) { return DeviceVector<float>(v, cudnn.stream()); };
  const auto x_memory = on_device(x);
  const auto y = on_device(Floats(kElements));
  const auto scale_memory = on_device(scale);
  const auto bias_memory = on_device(bias);
  const auto mean = on_device(zeros);
  const auto inv = on_device(zeros);
  const auto running_mean = on_device(Floats(kChannels, 2));
  const auto running_variance = on_device(Floats(kChannels, 3));
  float epsilon = kEpsilon;
  float factor = kFactor;
  cudnn.run({make_training()}, {{x_id, x_memory.data()},
                                {y_id, y.data()},
                                {scale_id, scale_memory.data()},
                                {bias_id, bias_memory.data()},
                                {mean_id, mean.data()},
                                {inv_id, inv.data()},
                                {epsilon_id, &epsilon},
                                {factor_id, &factor},
                                {old_mean_id, running_mean.data()},
                                {old_variance_id, running_variance.data()},
                                {new_mean_id, running_mean.data()},  // in place
                                {new_variance_id, running_variance.data()}});
  const Statistics s = statistics_of(wide(x));
  Doubles expected_inv, expected_mean, expected_variance;
  for (std::size_t c = 0; c < kChannels; ++c) {
    expected_inv.push_back(1 / std::sqrt(s.variance[c] + double{kEpsilon}));
    expected_mean.push_back(0.875 * 2 + 0.125 * s.mean[c]);
    expected_variance.push_back(0.875 * 3 + 0.125 * s.variance[c] * kSamples / (kSamples - 1));
  }
  check_near(y.read(), normalised(wide(x), wide(scale), wide(bias)), 1e-5);
  check_near(mean.read(), s.mean, 1e-6);
  check_near(inv.read(), expected_inv, 1e-6);
  check_near(running_mean.read(), expected_mean, 1e-6);
  check_near(running_variance.read(), expected_variance, 1e-6);
}

TEST_CASE("batch normalisation in inference takes its statistics") {
  const Cudnn cudnn;
  const Floats x = values(1, kElements);
  const DeviceVector<float> x_memory(x, cudnn.stream());
  const DeviceVector<float> y(Floats(kElements), cudnn.stream());
  const DeviceVector<float> scale({1, 2, 3}, cudnn.stream());
  const DeviceVector<float> bias({-1, 0, 1}, cudnn.stream());
  const DeviceVector<float> mean({0.5F, 0, -0.5F}, cudnn.stream());
  const DeviceVector<float> inv({1, 0.5F, 2}, cudnn.stream());
  cudnn.run({make_forward(CUDNN_NORM_FWD_INFERENCE).finish()}, {{x_id, x_memory.data()},
                                                                {y_id, y.data()},
                                                                {scale_id, scale.data()},
                                                                {bias_id, bias.data()},
                                                                {mean_id, mean.data()},
                                                                {inv_id, inv.data()}});
  Doubles expected;
  for (std::size_t i = 0; i < kElements; i += 3) {
    expected.push_back((double{x[i]} - 0.5) * 1 - 1);
    expected.push_back(double{x[i + 1]} * 0.5 * 2);
    expected.push_back((double{x[i + 2]} + 0.5) * 2 * 3 + 1);
  }
  check_near(y.read(), expected, 1e-5);
}

namespace {

constexpr std::int64_t kDy = 20, kDx = 21, kDscale = 22, kDbias = 23;

Desc make_backward() {
  Desc norm(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
  return norm
      .set<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE,
                                   {CUDNN_BATCH_NORM})
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, {make_tensor(x_id, kDims)})
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, {make_tensor(kDy, kDims)})
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, {make_tensor(kDx, kDims)})
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, {of_channels(scale_id)})
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, {of_channels(mean_id)})
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, {of_channels(inv_id)})
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, {of_channels(kDscale)})
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, {of_channels(kDbias)})
      .finish();
}

/// Derivatives of sum(dy * normalised(x, scale, bias)) by each element of `variable`.
Doubles differences(Doubles& variable, const Doubles& x, const Doubles& scale, const Doubles& bias,
                    const Doubles& dy) {
  const auto loss = [&] {
    const Doubles y = normalised(x, scale, bias);
    return std::inner_product(y.begin(), y.end(), dy.begin(), 0.0);
  };
  constexpr double step = 1e-5;
  Doubles result;
  for (double& value : variable) {
    const double middle = value;
    value = middle + step;
    const double above = loss();
    value = middle - step;
    result.push_back((above - loss()) / (2 * step));
    value = middle;
  }
  return result;
}

}  // namespace

TEST_CASE("gradients of batch normalisation are those of its definition") {
  const Cudnn cudnn;
  Doubles x = wide(values(1, kElements));
  Doubles scale = wide(values(2, kChannels));
  Doubles bias = wide(values(3, kChannels));
  const Floats dy = values(4, kElements);
  const Statistics s = statistics_of(x);
  Floats mean, inv;
  for (std::size_t c = 0; c < kChannels; ++c) {
    mean.push_back(static_cast<float>(s.mean[c]));
    inv.push_back(static_cast<float>(1 / std::sqrt(s.variance[c] + double{kEpsilon})));
  }
  const auto on_device = [&](const Floats& v) { return DeviceVector<float>(v, cudnn.stream()); };
  const auto x_memory = on_device(values(1, kElements));
  const auto scale_memory = on_device(values(2, kChannels));
  const auto dy_memory = on_device(dy);
  const auto mean_memory = on_device(mean);
  const auto inv_memory = on_device(inv);
  const auto dx = on_device(Floats(kElements));
  const auto dscale = on_device(Floats(kChannels));
  const auto dbias = on_device(Floats(kChannels));
  cudnn.run({make_backward()}, {{x_id, x_memory.data()},
                                {kDy, dy_memory.data()},
                                {scale_id, scale_memory.data()},
                                {mean_id, mean_memory.data()},
                                {inv_id, inv_memory.data()},
                                {kDx, dx.data()},
                                {kDscale, dscale.data()},
                                {kDbias, dbias.data()}});
  check_near(dx.read(), differences(x, x, scale, bias, wide(dy)), 1e-4);
  check_near(dscale.read(), differences(scale, x, scale, bias, wide(dy)), 1e-4);
  check_near(dbias.read(), differences(bias, x, scale, bias, wide(dy)), 1e-4);
}
