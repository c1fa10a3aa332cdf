#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include "graph_run.hpp"
#include "tests/cuda/device_vector.hpp"
#include "tests/support/values.hpp"

// The three directions of a convolution against sums over every pixel and tap, in double.

namespace {

using rueda::test::Bound;
using rueda::test::Cudnn;
using rueda::test::Desc;
using rueda::test::DeviceVector;
using rueda::test::filled;
using rueda::test::make_tensor;
using rueda::test::rough_value;
using Dims = std::vector<std::int64_t>;
using Floats = std::vector<float>;

struct Case {
  std::int64_t n, c, k, h, w, filter, stride, pad;
};

std::int64_t output(std::int64_t size, const Case& t) {
  return (size + 2 * t.pad - t.filter) / t.stride + 1;
}

Dims x_dims(const Case& t) { return {t.n, t.c, t.h, t.w}; }
Dims w_dims(const Case& t) { return {t.k, t.c, t.filter, t.filter}; }
Dims y_dims(const Case& t) { return {t.n, t.k, output(t.h, t), output(t.w, t)}; }

std::size_t count(const Dims& d) { return static_cast<std::size_t>(d[0] * d[1] * d[2] * d[3]); }

std::size_t at(const Dims& d, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  return static_cast<std::size_t>(((n * d[2] + h) * d[3] + w) * d[1] + c);
}

/// Calls body(x, w, y) with the elements of every product of the convolution.
template <typename Body>
void each_product(const Case& t, const Body& body) {
  const Dims x = x_dims(t);
  const Dims w = w_dims(t);
  const Dims y = y_dims(t);
  for (std::int64_t n = 0; n < t.n; ++n) {
    for (std::int64_t p = 0; p < y[2]; ++p) {
      for (std::int64_t q = 0; q < y[3]; ++q) {
        for (std::int64_t r = 0; r < t.filter * t.filter; ++r) {
          const std::int64_t row = p * t.stride - t.pad + r / t.filter;
          const std::int64_t column = q * t.stride - t.pad + r % t.filter;
          if (row < 0 || row >= t.h || column < 0 || column >= t.w) continue;
          for (std::int64_t k = 0; k < t.k; ++k) {
            for (std::int64_t c = 0; c < t.c; ++c) {
              body(at(x, n, c, row, column), at(w, k, c, r / t.filter, r % t.filter),
                   at(y, n, k, p, q));
            }
          }
        }
      }
    }
  }
}

Desc make_conv(const Case& t) {
  Desc conv(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  return conv.integers(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2})
      .set<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                            {CUDNN_DATA_FLOAT})
      .set<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                                   {CUDNN_CROSS_CORRELATION})
      .integers(CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1})
      .integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {t.stride, t.stride})
      .integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {t.pad, t.pad})
      .integers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {t.pad, t.pad})
      .finish();
}

/// A direction: its descriptor and attributes; the tensor it makes is 0: y, 1: x, 2: w.
struct Direction {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t alpha, beta, conv, x, w, y;
  int result;
};

constexpr Direction kDirections[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, 0},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, 1},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, 2}};

Desc make_operation(const Direction& direction, const Case& t, float alpha, float beta) {
  Desc operation(direction.type);
  return operation.set<float>(direction.alpha, CUDNN_TYPE_FLOAT, {alpha})
      .set<float>(direction.beta, CUDNN_TYPE_FLOAT, {beta})
      .set(direction.conv, {make_conv(t)})
      .set(direction.x, {make_tensor(1, x_dims(t))})
      .set(direction.w, {make_tensor(2, w_dims(t))})
      .set(direction.y, {make_tensor(3, y_dims(t))})
      .finish();
}

/// alpha * what the direction makes + beta * what was there.
Floats expected(const Direction& direction, const Case& t, const std::vector<Floats>& operands,
                float alpha, float beta) {
  const auto& [y, x, w] = std::tie(operands[0], operands[1], operands[2]);
  const Floats& old = operands[static_cast<std::size_t>(direction.result)];
  std::vector<double> sums(old.size());
  each_product(t, [&](std::size_t i, std::size_t j, std::size_t k) {
    const auto product = [](float a, float b) { return static_cast<double>(a) * double{b}; };
    if (direction.result == 0) sums[k] += product(x[i], w[j]);
    if (direction.result == 1) sums[i] += product(y[k], w[j]);
    if (direction.result == 2) sums[j] += product(x[i], y[k]);
  });
  Floats result;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    result.push_back(static_cast<float>(double{alpha} * sums[i] + double{beta} * double{old[i]}));
  }
  return result;
}

float largest_difference(const Floats& a, const Floats& b) {
  float largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const float difference = std::fabs(a[i] - b[i]);
    largest = difference <= largest ? largest : difference;
  }
  return largest;
}

Floats values(int key, const Dims& dims) {
  Floats result = filled<rough_value>(key, count(dims));
  for (float& value : result) value /= 64;  // up to 4
  return result;
}

}  // namespace

TEST_CASE("convolutions are what they should be in three directions") {
  const Case t = GENERATE(Case{2, 8, 16, 7, 6, 3, 1, 1}, Case{2, 3, 8, 9, 8, 3, 2, 1},
                          Case{1, 8, 4, 6, 6, 1, 2, 0}, Case{3, 5, 7, 5, 5, 1, 1, 0},
                          Case{1, 3, 8, 14, 13, 7, 2, 3}, Case{1, 4, 4, 5, 5, 3, 2, 0});
  const Direction direction = GENERATE(from_range(std::begin(kDirections), std::end(kDirections)));
  const bool scaled = GENERATE(false, true);
  CAPTURE(t.filter, t.stride, t.pad, direction.result, scaled);
  const float alpha = scaled ? 0.5F : 1.0F;
  const float beta = scaled ? -2.0F : 0.0F;
  const std::vector<Floats> operands = {values(0, y_dims(t)), values(1, x_dims(t)),
                                        values(2, w_dims(t))};
  const Cudnn cudnn;
  const DeviceVector<float> y(operands[0], cudnn.stream());
  const DeviceVector<float> x(operands[1], cudnn.stream());
  const DeviceVector<float> w(operands[2], cudnn.stream());
  cudnn.run({make_operation(direction, t, alpha, beta)},
            {{1, x.data()}, {2, w.data()}, {3, y.data()}});
  const DeviceVector<float>* results[] = {&y, &x, &w};
  CHECK(largest_difference(results[direction.result]->read(),
                           expected(direction, t, operands, alpha, beta)) < 2e-4F);
}

TEST_CASE("a convolution whose shapes do not fit is refused") {
  const Case t{2, 8, 16, 7, 6, 3, 1, 1};
  Case other = t;
  other.stride = 2;
  Desc operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  operation.set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, {1})
      .set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, {0})
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, {make_conv(other)})
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, {make_tensor(1, x_dims(t))})
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, {make_tensor(2, w_dims(t))})
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, {make_tensor(3, y_dims(t))});
  CHECK(cudnnBackendFinalize(operation.get()) == CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
}
