#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

#include "graph_run.hpp"
#include "tests/cuda/device_vector.hpp"
#include "tests/support/bf16_rounding.hpp"
#include "tests/support/values.hpp"

namespace {

using rueda::test::Cudnn;
using rueda::test::Desc;
using rueda::test::DeviceVector;
using rueda::test::filled;
using rueda::test::make_pointwise_operation;
using rueda::test::make_tensor;
using rueda::test::rough_value;
using Floats = std::vector<float>;

const std::vector<std::int64_t> kDims = {2, 4, 3, 2};
constexpr std::size_t kElements = 48;
const std::vector<std::int64_t> kChannels = {1, 4, 1, 1};

Desc virtual_tensor(std::int64_t id) {
  return make_tensor(id, kDims, {.is_virtual = true, .strides = {}});
}

float from_bf16(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("a graph of virtual tensors: scale, bias, ReLU, and a mask of bits") {
  const Cudnn cudnn;
  const Floats values = filled<rough_value>(1, kElements);
  const Floats scales = {1, -2, 0.5F, 0};
  const Floats biases = {0, 1, -1, 0};  // channel 3 is 0, which is not above 0
  const DeviceVector<float> x(values, cudnn.stream());
  const DeviceVector<float> scale(scales, cudnn.stream());
  const DeviceVector<float> bias(biases, cudnn.stream());
  const DeviceVector<float> y(Floats(kElements), cudnn.stream());
  const DeviceVector<std::uint8_t> mask(std::vector<std::uint8_t>(kElements / 8), cudnn.stream());
  float zero = 0;
  const Desc scale_tensor = make_tensor(2, kChannels);
  const Desc bias_tensor = make_tensor(3, kChannels);
  const Desc zero_tensor = make_tensor(4, {1, 1, 1, 1}, {.is_by_value = true, .strides = {}});
  const Desc scaled = virtual_tensor(10);
  const Desc shifted = virtual_tensor(11);
  // Not in the order in which they have to be done.
  const std::vector<Desc> operations = {
      make_pointwise_operation(CUDNN_POINTWISE_RELU_FWD, shifted, make_tensor(5, kDims)),
      make_pointwise_operation(CUDNN_POINTWISE_CMP_GT, shifted,
                               make_tensor(6, kDims, {.type = CUDNN_DATA_BOOLEAN, .strides = {}}),
                               &zero_tensor),
      make_pointwise_operation(CUDNN_POINTWISE_ADD, scaled, shifted, &bias_tensor),
      make_pointwise_operation(CUDNN_POINTWISE_MUL, make_tensor(1, kDims), scaled, &scale_tensor)};
  cudnn.run(operations, {{1, x.data()},
                         {2, scale.data()},
                         {3, bias.data()},
                         {4, &zero},
                         {5, y.data()},
                         {6, mask.data()}});
  const Floats found = y.read();
  const auto bits = mask.read();
  for (std::size_t i = 0; i < kElements; ++i) {
    const float expected = values[i] * scales[i % 4] + biases[i % 4];
    CHECK(found[i] == std::fmax(expected, 0.0F));
    CHECK((bits[i / 8] >> i % 8 & 1) == (expected > 0 ? 1 : 0));
  }
  cudnn.run(
      {make_pointwise_operation(CUDNN_POINTWISE_IDENTITY,
                                make_tensor(6, kDims, {.type = CUDNN_DATA_BOOLEAN, .strides = {}}),
                                make_tensor(5, kDims))},
      {{5, y.data()}, {6, mask.data()}});
  const Floats truths = y.read();
  for (std::size_t i = 0; i < kElements; ++i) CHECK(truths[i] == (found[i] > 0 ? 1 : 0));
}

TEST_CASE("values are rounded to bf16 to the nearest, even ones of two") {
  const Cudnn cudnn;
  Floats values = filled<rough_value>(2, kElements - 3);
  values.insert(values.end(), {1 + 0x1p-8F, 1 + 3 * 0x1p-8F, -0.0F});
  const DeviceVector<float> x(values, cudnn.stream());
  const DeviceVector<std::uint16_t> y(std::vector<std::uint16_t>(kElements), cudnn.stream());
  const Desc bf16 = make_tensor(2, kDims, {.type = CUDNN_DATA_BFLOAT16, .strides = {}});
  cudnn.run({make_pointwise_operation(CUDNN_POINTWISE_IDENTITY, make_tensor(1, kDims), bf16)},
            {{1, x.data()}, {2, y.data()}});
  const auto found = y.read();
  for (std::size_t i = 0; i < kElements; ++i) {
    CHECK(double{from_bf16(found[i])} == rueda::test::nearest_bf16(double{values[i]}));
  }
}

TEST_CASE("any strides are read and written") {
  const Cudnn cudnn;
  const Floats values = filled<rough_value>(3, kElements);
  const DeviceVector<float> x(values, cudnn.stream());
  const DeviceVector<float> y(Floats(2 * kElements, 7), cudnn.stream());
  const Desc nchw = make_tensor(1, kDims, {.strides = {24, 6, 2, 1}});
  const Desc spread = make_tensor(2, kDims, {.strides = {48, 2, 16, 8}});  // every second element
  cudnn.run({make_pointwise_operation(CUDNN_POINTWISE_NEG, nchw, spread)},
            {{1, x.data()}, {2, y.data()}});
  const Floats found = y.read();
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t c = 0; c < 4; ++c) {
      for (std::size_t pixel = 0; pixel < 6; ++pixel) {
        const std::size_t at = n * 48 + pixel * 8 + c * 2;
        CHECK(found[at] == -values[n * 24 + c * 6 + pixel]);
        CHECK(found[at + 1] == 7);
      }
    }
  }
}

TEST_CASE("the gradient of a ReLU passes where the input is above 0") {
  const Cudnn cudnn;
  const DeviceVector<float> x({-1, 0, 1, 2}, cudnn.stream());
  const DeviceVector<float> dy({5, 6, 7, 8}, cudnn.stream());
  const DeviceVector<float> dx(Floats(4), cudnn.stream());
  Desc operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation
      .set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
           {rueda::test::make_pointwise(CUDNN_POINTWISE_RELU_BWD)})
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, {make_tensor(1, kChannels)})
      .set(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, {make_tensor(2, kChannels)})
      .set(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, {make_tensor(3, kChannels)})
      .finish();
  cudnn.run({operation}, {{1, x.data()}, {2, dy.data()}, {3, dx.data()}});
  CHECK(dx.read() == Floats{0, 0, 7, 8});
}

TEST_CASE("sums, averages and maxima over pixels and samples") {
  struct Kind {
    cudnnReduceTensorOp_t how;
    Floats expected;
  };
  const Kind kind =
      GENERATE(Kind{CUDNN_REDUCE_TENSOR_ADD, {12, -12}}, Kind{CUDNN_REDUCE_TENSOR_AVG, {3, -3}},
               Kind{CUDNN_REDUCE_TENSOR_MAX, {6, -1}});
  const Cudnn cudnn;
  const DeviceVector<float> x({0, -1, 2, -2, 4, -4, 6, -5}, cudnn.stream());
  const DeviceVector<float> y({0, 0}, cudnn.stream());
  Desc reduction(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  reduction
      .set<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
                                  {kind.how})
      .set<cudnnDataType_t>(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                            {CUDNN_DATA_FLOAT})
      .finish();
  Desc operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, {reduction})
      .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, {make_tensor(1, {2, 2, 2, 1})})
      .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, {make_tensor(2, {1, 2, 1, 1})})
      .finish();
  cudnn.run({operation}, {{1, x.data()}, {2, y.data()}});
  CHECK(y.read() == kind.expected);
}
