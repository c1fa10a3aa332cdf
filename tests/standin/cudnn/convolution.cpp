#include "conv_loops.hpp"
#include "operation.hpp"

namespace rueda::standin {
namespace {

/// The attributes of a direction; `result` is the tensor that it makes.
struct Names {
  cudnnBackendAttributeName_t alpha, beta, conv, w, x, y;
};

Names names_of(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
    default:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};
  }
}

std::array<std::int64_t, 2> pair(const Descriptor& conv, cudnnBackendAttributeName_t name) {
  const auto values = conv.all<std::int64_t>(name);
  require(values.size() == 2, "CONVOLUTION: two spatial dimensions are needed",
          CUDNN_STATUS_NOT_SUPPORTED);
  return {values[0], values[1]};
}

ConvGeometry geometry_of(const Descriptor& conv) {
  return {pair(conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
          pair(conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
          pair(conv, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS),
          pair(conv, CUDNN_ATTR_CONVOLUTION_DILATIONS),
          conv.one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CONVOLUTION};
}

struct Conv {
  TensorSpec w, x, y;
  ConvGeometry geometry;
};

void check_shapes(const Conv& conv) {
  bool fit = conv.x.dims[0] == conv.y.dims[0] && conv.w.dims[0] == conv.y.dims[1];
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const ConvGeometry& g = conv.geometry;
    const std::int64_t window = (conv.w.dims[2 + axis] - 1) * g.dilation[axis] + 1;
    const std::int64_t room = conv.x.dims[2 + axis] + g.pad[axis] + g.pad_behind[axis] - window;
    if (room < 0 || conv.y.dims[2 + axis] != room / g.stride[axis] + 1) fit = false;
  }
  require(fit, "the shapes of a convolution do not fit", CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  require(conv.x.dims[1] == conv.w.dims[1], "the stand-in knows no grouped convolution",
          CUDNN_STATUS_NOT_SUPPORTED);
}

Conv conv_of(const Descriptor& operation, const Names& names) {
  const DescriptorPtr conv = operation.child(names.conv);
  require(conv->type == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
          "an operation's CONV_DESC is no CONVOLUTION", CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
  Conv result{tensor_at(operation, names.w), tensor_at(operation, names.x),
              tensor_at(operation, names.y), geometry_of(*conv)};
  check_shapes(result);
  return result;
}

/// alpha * fresh + beta * what was there before.
void put_scaled(Bindings& bindings, const TensorSpec& to, Dense fresh, float alpha, float beta) {
  if (alpha != 1) {
    for (float& value : fresh.values) value *= alpha;
  }
  if (beta != 0) {
    const Dense& old = bindings.get(to);
    for (std::size_t i = 0; i < fresh.values.size(); ++i) fresh.values[i] += beta * old.values[i];
  }
  bindings.put(to, std::move(fresh));
}

Dense calculate(cudnnBackendDescriptorType_t type, const Conv& c, Bindings& bindings) {
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return conv_forward(bindings.get(c.x), bindings.get(c.w), c.y.dims, c.geometry);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return conv_backward_data(bindings.get(c.y), bindings.get(c.w), c.x.dims, c.geometry);
    default:
      return conv_backward_filter(bindings.get(c.x), bindings.get(c.y), c.w.dims, c.geometry);
  }
}

}  // namespace

Operation make_convolution(const Descriptor& descriptor) {
  const auto type = descriptor.type;
  const Names names = names_of(type);
  const Conv conv = conv_of(descriptor, names);
  const auto alpha = static_cast<float>(descriptor.number(names.alpha, 1));
  const auto beta = static_cast<float>(descriptor.number(names.beta, 0));
  TensorSpec to = conv.y;
  std::vector<TensorSpec> reads = {conv.x, conv.w};
  if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
    to = conv.x;
    reads = {conv.y, conv.w};
  } else if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR) {
    to = conv.w;
    reads = {conv.x, conv.y};
  }
  return {reads, {to}, [=](Bindings& bindings) {
            put_scaled(bindings, to, calculate(type, conv, bindings), alpha, beta);
          }};
}

}  // namespace rueda::standin
