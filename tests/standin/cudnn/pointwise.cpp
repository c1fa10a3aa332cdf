#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "operation.hpp"

namespace rueda::standin {
namespace {

/// Bounds and slope of a ReLU.
struct Clip {
  float lower;
  float upper;
  float slope;
};

float relu(float x, const Clip& clip) {
  if (x < clip.lower) return clip.lower + clip.slope * (x - clip.lower);
  return std::fmin(x, clip.upper);
}

float relu_gradient(float x, float dy, const Clip& clip) {
  if (x > clip.lower && x < clip.upper) return dy;
  return x <= clip.lower ? clip.slope * dy : 0;
}

[[noreturn]] void refuse(cudnnPointwiseMode_t mode) {
  throw Refusal(CUDNN_STATUS_NOT_SUPPORTED,
                "pointwise mode " + std::to_string(mode) + " is not known to the stand-in");
}

float truth(bool holds) { return holds ? 1.0F : 0.0F; }

float of_one(cudnnPointwiseMode_t mode, float x, const Clip& clip) {
  switch (mode) {
    case CUDNN_POINTWISE_IDENTITY:
      return x;
    case CUDNN_POINTWISE_RELU_FWD:
      return relu(x, clip);
    case CUDNN_POINTWISE_SQRT:
      return std::sqrt(x);
    case CUDNN_POINTWISE_RSQRT:
      return 1 / std::sqrt(x);
    case CUDNN_POINTWISE_RECIPROCAL:
      return 1 / x;
    case CUDNN_POINTWISE_NEG:
      return -x;
    case CUDNN_POINTWISE_ABS:
      return std::fabs(x);
    case CUDNN_POINTWISE_EXP:
      return std::exp(x);
    case CUDNN_POINTWISE_LOG:
      return std::log(x);
    case CUDNN_POINTWISE_LOGICAL_NOT:
      return truth(x == 0);
    default:
      refuse(mode);
  }
}

float compare(cudnnPointwiseMode_t mode, float x, float b) {
  switch (mode) {
    case CUDNN_POINTWISE_CMP_EQ:
      return truth(x == b);
    case CUDNN_POINTWISE_CMP_NEQ:
      return truth(x != b);
    case CUDNN_POINTWISE_CMP_GT:
      return truth(x > b);
    case CUDNN_POINTWISE_CMP_GE:
      return truth(x >= b);
    case CUDNN_POINTWISE_CMP_LT:
      return truth(x < b);
    case CUDNN_POINTWISE_CMP_LE:
      return truth(x <= b);
    case CUDNN_POINTWISE_LOGICAL_AND:
      return truth(x != 0 && b != 0);
    case CUDNN_POINTWISE_LOGICAL_OR:
      return truth(x != 0 || b != 0);
    default:
      refuse(mode);
  }
}

float of_two(cudnnPointwiseMode_t mode, float x, float b) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return x + b;
    case CUDNN_POINTWISE_SUB:
      return x - b;
    case CUDNN_POINTWISE_MUL:
      return x * b;
    case CUDNN_POINTWISE_DIV:
      return x / b;
    case CUDNN_POINTWISE_MAX:
      return std::fmax(x, b);
    case CUDNN_POINTWISE_MIN:
      return std::fmin(x, b);
    case CUDNN_POINTWISE_ADD_SQUARE:
      return x + b * b;
    case CUDNN_POINTWISE_POW:
      return std::pow(x, b);
    default:
      return compare(mode, x, b);
  }
}

bool is_backward(cudnnPointwiseMode_t mode) { return mode == CUDNN_POINTWISE_RELU_BWD; }

bool takes_one(cudnnPointwiseMode_t mode) {
  return (mode >= CUDNN_POINTWISE_ABS && mode <= CUDNN_POINTWISE_RECIPROCAL) ||
         mode == CUDNN_POINTWISE_SQRT || mode == CUDNN_POINTWISE_LOGICAL_NOT ||
         (mode >= CUDNN_POINTWISE_RELU_FWD && mode < CUDNN_POINTWISE_RELU_BWD);
}

Clip clip_of(const Descriptor& pointwise) {
  const double none = std::numeric_limits<double>::infinity();
  return {static_cast<float>(pointwise.number(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0)),
          static_cast<float>(pointwise.number(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, none)),
          static_cast<float>(pointwise.number(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0))};
}

/// Reads a tensor as if it had the shape of the result: dimensions of size 1 are repeated.
class Broadcast {
 public:
  explicit Broadcast(const Dense& dense) : dense_(dense) {
    for (std::size_t i = 0; i < 4; ++i) repeat_[i] = dense.dims[i] == 1 ? 0 : 1;
  }
  float at(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    return dense_.values[dense_.at(n * repeat_[0], c * repeat_[1], h * repeat_[2], w * repeat_[3])];
  }

 private:
  const Dense& dense_;
  Dims repeat_;
};

/// to[i] = body(a, b, c) of the elements of up to three tensors; those that are none give 0.
template <typename Body>
Dense map_elements(const Dims& dims, const Dense& x, const Dense* b, const Dense* t,
                   const Body& body) {
  Dense result(dims);
  const Broadcast first(x);
  const Broadcast second(b == nullptr ? x : *b);
  const Broadcast third(t == nullptr ? x : *t);
  std::size_t i = 0;
  for (std::int64_t n = 0; n < dims[0]; ++n) {
    for (std::int64_t h = 0; h < dims[2]; ++h) {
      for (std::int64_t w = 0; w < dims[3]; ++w) {
        for (std::int64_t c = 0; c < dims[1]; ++c, ++i) {
          result.values[i] =
              body(first.at(n, c, h, w), second.at(n, c, h, w), third.at(n, c, h, w));
        }
      }
    }
  }
  return result;
}

void check_shapes(const TensorSpec& from, const TensorSpec& to) {
  for (std::size_t i = 0; i < 4; ++i) {
    require(from.dims[i] == to.dims[i] || from.dims[i] == 1,
            "the shapes of a pointwise operation do not fit",
            CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  }
}

Operation make_backward(const Descriptor& descriptor, const Clip& clip) {
  const auto x = needed_tensor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, "XDESC");
  const auto dy = needed_tensor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, "DYDESC");
  const auto dx = needed_tensor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, "DXDESC");
  check_shapes(x, dx);
  check_shapes(dy, dx);
  return {{x, dy}, {dx}, [=](Bindings& bindings) {
            bindings.put(dx, map_elements(dx.dims, bindings.get(x), &bindings.get(dy), nullptr,
                                          [&](float at, float gradient, float) {
                                            return relu_gradient(at, gradient, clip);
                                          }));
          }};
}

struct Forward {
  cudnnPointwiseMode_t mode;
  float alpha1;
  float alpha2;
  Clip clip;

  float operator()(float x, float b, float t) const {
    if (mode == CUDNN_POINTWISE_BINARY_SELECT) return t != 0 ? x : b;
    return takes_one(mode) ? of_one(mode, alpha1 * x, clip) : of_two(mode, alpha1 * x, alpha2 * b);
  }
};

Operation make_forward(const Descriptor& descriptor, const Forward& forward) {
  const auto x = needed_tensor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, "XDESC");
  const auto y = needed_tensor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, "YDESC");
  std::vector<TensorSpec> reads = {x};
  if (!takes_one(forward.mode)) {
    reads.push_back(needed_tensor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, "BDESC"));
  }
  if (forward.mode == CUDNN_POINTWISE_BINARY_SELECT) {
    reads.push_back(needed_tensor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, "TDESC"));
  }
  for (const TensorSpec& from : reads) check_shapes(from, y);
  static_cast<void>(forward(1, 1, 1));  // refuses an unknown mode now
  return {reads, {y}, [=](Bindings& bindings) {
            const Dense* b = reads.size() > 1 ? &bindings.get(reads[1]) : nullptr;
            const Dense* t = reads.size() > 2 ? &bindings.get(reads[2]) : nullptr;
            bindings.put(y, map_elements(y.dims, bindings.get(x), b, t, forward));
          }};
}

}  // namespace

Operation make_pointwise(const Descriptor& descriptor) {
  const DescriptorPtr pointwise = descriptor.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  require(pointwise->type == CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
          "an operation's PW_DESCRIPTOR is no POINTWISE", CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
  const auto mode = pointwise->one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  if (is_backward(mode)) return make_backward(descriptor, clip_of(*pointwise));
  const auto alpha = [&](cudnnBackendAttributeName_t name) {
    return static_cast<float>(descriptor.number(name, 1));
  };
  return make_forward(descriptor,
                      {mode, alpha(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1),
                       alpha(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2), clip_of(*pointwise)});
}

}  // namespace rueda::standin
