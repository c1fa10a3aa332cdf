#include <algorithm>
#include <cmath>
#include <limits>

#include "operation.hpp"

namespace rueda::standin {
namespace {

struct Reducer {
  cudnnReduceTensorOp_t how;

  double start() const {
    const double infinity = std::numeric_limits<double>::infinity();
    if (how == CUDNN_REDUCE_TENSOR_MAX) return -infinity;
    return how == CUDNN_REDUCE_TENSOR_MIN ? infinity : 0;
  }

  double combine(double so_far, double x) const {
    switch (how) {
      case CUDNN_REDUCE_TENSOR_ADD:
      case CUDNN_REDUCE_TENSOR_AVG:
        return so_far + x;
      case CUDNN_REDUCE_TENSOR_MAX:
        return std::max(so_far, x);
      case CUDNN_REDUCE_TENSOR_MIN:
        return std::min(so_far, x);
      case CUDNN_REDUCE_TENSOR_AMAX:
        return std::max(so_far, std::fabs(x));
      case CUDNN_REDUCE_TENSOR_NORM1:
        return so_far + std::fabs(x);
      case CUDNN_REDUCE_TENSOR_NORM2:
        return so_far + x * x;
      default:
        throw Refusal(CUDNN_STATUS_NOT_SUPPORTED,
                      "reduction " + std::to_string(how) + " is not known to the stand-in");
    }
  }

  float finish(double total, double count) const {
    if (how == CUDNN_REDUCE_TENSOR_AVG) total /= count;
    return static_cast<float>(how == CUDNN_REDUCE_TENSOR_NORM2 ? std::sqrt(total) : total);
  }
};

Dense reduce(const Dense& x, const Dims& dims, const Reducer& reducer) {
  Dense y(dims);
  std::vector<double> totals(y.values.size(), reducer.start());
  const auto kept = [&](std::size_t axis, std::int64_t i) { return dims[axis] == 1 ? 0 : i; };
  std::size_t i = 0;
  for (std::int64_t n = 0; n < x.dims[0]; ++n) {
    for (std::int64_t h = 0; h < x.dims[2]; ++h) {
      for (std::int64_t w = 0; w < x.dims[3]; ++w) {
        for (std::int64_t c = 0; c < x.dims[1]; ++c, ++i) {
          double& total = totals[y.at(kept(0, n), kept(1, c), kept(2, h), kept(3, w))];
          total = reducer.combine(total, static_cast<double>(x.values[i]));
        }
      }
    }
  }
  const double count = static_cast<double>(x.values.size()) / static_cast<double>(totals.size());
  std::transform(totals.begin(), totals.end(), y.values.begin(),
                 [&](double total) { return reducer.finish(total, count); });
  return y;
}

}  // namespace

Operation make_reduction(const Descriptor& descriptor) {
  const auto x = tensor_at(descriptor, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
  const auto y = tensor_at(descriptor, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
  for (std::size_t i = 0; i < 4; ++i) {
    require(y.dims[i] == 1 || y.dims[i] == x.dims[i], "the shapes of a reduction do not fit",
            CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  }
  const DescriptorPtr how = descriptor.child(CUDNN_ATTR_OPERATION_REDUCTION_DESC);
  const Reducer reducer{how->one<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR)};
  static_cast<void>(reducer.combine(0, 0));  // refuses an unknown operator now
  return {{x}, {y}, [=](Bindings& bindings) {
            bindings.put(y, reduce(bindings.get(x), y.dims, reducer));
          }};
}

}  // namespace rueda::standin
