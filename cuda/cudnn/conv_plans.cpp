#include "cuda/cudnn/conv_plans.hpp"

#include <numeric>

#include <fmt/format.h>

#include "rueda/backend/gradient_arena.hpp"

namespace rueda::cuda {
namespace {

constexpr std::int64_t kEngineAlignment = 16;

/// Bytes, 16 at most, that the place of a tensor in an arena is a multiple of.
std::int64_t alignment_in_arena(const Graph& graph, ParameterId id, Element element) {
  const std::size_t place = GradientLayout(graph).lead() + graph.parameter(id).offset;
  return std::gcd(std::int64_t(place * bytes_of(element)), kEngineAlignment);
}

cudnnDataType_t cudnn_type(Element element) {
  if (element == Element::bf16) return CUDNN_DATA_BFLOAT16;
  return CUDNN_DATA_FLOAT;
}

TensorSpec activation(const OperationRequest& r, NodeId node) {
  const ImageShape s = r.shape_of(node);
  return {{s.images, s.channels, s.height, s.width}, cudnn_type(r.element())};
}

TensorSpec in_fp32(TensorSpec spec) {
  spec.type = CUDNN_DATA_FLOAT;
  return spec;
}

std::string extents(const TensorSpec& spec) {
  const auto [n, c, h, w] = spec.dims;
  return fmt::format("{}x{}x{}x{}", n, c, h, w);
}

/// Once where both are the same.
std::string extents(const std::array<std::int64_t, 2>& pair) {
  if (pair[0] == pair[1]) return std::to_string(pair[0]);
  return fmt::format("{}x{}", pair[0], pair[1]);
}

}  // namespace

ConvPlans::ConvPlans(const OperationRequest& r, const ConvNode& conv)
    : r_(r),
      windows_(windows_of(r.graph, r.node, r.context.precision)),
      geometry_{{conv.stride, conv.stride}, {conv.padding, conv.padding}},
      x_(activation(r, r.input())),
      y_(activation(r, r.node)) {
  w_ = {{conv.filters, x_.dims[1], conv.kernel, conv.kernel}, cudnn_type(r.element())};
  dw_ = w_;
  if (windows_) {
    read_windows();
    return;
  }
  w_.alignment = alignment_in_arena(r.graph, conv.weight, r.element());
  if (r.element() == Element::fp32) dw_.alignment = w_.alignment;
}

/// A window's values are the channels of one column. Its weights have memory of their own.
void ConvPlans::read_windows() {
  geometry_.stride[1] = 1;
  geometry_.padding[1] = 0;
  x_.dims[1] = w_.dims[1] = windows_->stored;
  x_.dims[3] = windows_->count;
  w_.dims[3] = 1;
  dw_ = w_;
}

/// Everything that an engine's fitness depends on.
std::string ConvPlans::key(const char* what) const {
  std::string text =
      fmt::format("{} {} {} by {} stride {} padding {}", what, to_string(r_.context.precision),
                  extents(x_), extents(w_), extents(geometry_.stride), extents(geometry_.padding));
  if (w_.alignment != kEngineAlignment) text += fmt::format(" aligned {}", w_.alignment);
  return text;
}

CudnnGraph::Tensor ConvPlans::id_of(Tensor tensor) {
  switch (tensor) {
    case Tensor::input:
    case Tensor::windows:
    case Tensor::input_gradient:
      return kX;
    case Tensor::weights:
    case Tensor::weight_gradient:
      return kW;
    case Tensor::output:
      return kY;
    case Tensor::bias:
      return kBias;
    case Tensor::residual:
      return kResidual;
    case Tensor::output_gradient:
      return kDy;
    case Tensor::sums:
      return kSums;
    default:
      return kSquareSums;
  }
}

const CudnnPlan* ConvPlans::find(const Launch& launch) const {
  if (launch.kind == LaunchKind::conv_weights)
    return gradient(ConvDirection::weight_gradient, key("weight gradient"), dw_);
  if (launch.kind == LaunchKind::conv_data)
    return gradient(ConvDirection::data_gradient, key("data gradient"), w_);
  return forward(launch);
}

std::string ConvPlans::forward_key(const Launch& launch) const {
  std::string name = key("forward");
  if (launch.uses(Tensor::bias)) name += " + bias";
  if (launch.uses(Tensor::residual)) name += " + residual";
  if (launch.uses(Tensor::sums)) name += " + statistics";
  return name;
}

const CudnnPlan* ConvPlans::forward(const Launch& launch) const {
  const bool bias = launch.uses(Tensor::bias);
  const bool residual = launch.uses(Tensor::residual);
  const bool sums = launch.uses(Tensor::sums);
  return r_.context.plans->find(forward_key(launch), [&](CudnnGraph& g) {
    const auto y = g.tensor(kY, y_);
    auto result = y;
    if (bias || residual) result = g.intermediate(in_fp32(y_));
    g.conv(ConvDirection::forward, g.tensor(kW, w_), g.tensor(kX, x_), result, geometry_);
    if (bias) {
      auto sum = y;
      if (residual) sum = g.intermediate(in_fp32(y_));
      g.binary(CUDNN_POINTWISE_ADD, result, g.tensor(kBias, {{1, y_.dims[1], 1, 1}}), sum);
      result = sum;
    }
    if (residual) g.binary(CUDNN_POINTWISE_ADD, result, g.tensor(kResidual, y_), y);
    const TensorSpec channels{{1, y_.dims[1], 1, 1}, CUDNN_DATA_FLOAT, sizeof(float)};
    if (sums) g.channel_sums(y, g.tensor(kSums, channels), g.tensor(kSquareSums, channels));
  });
}

const CudnnPlan* ConvPlans::gradient(ConvDirection direction, const std::string& name,
                                     const TensorSpec& weights) const {
  return r_.context.plans->find(name, [&](CudnnGraph& g) {
    const auto w = g.tensor(kW, weights);
    g.conv(direction, w, g.tensor(kX, x_), g.tensor(kDy, y_), geometry_);
  });
}

}  // namespace rueda::cuda
