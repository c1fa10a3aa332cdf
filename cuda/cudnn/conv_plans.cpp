#include "conv_plans.hpp"

#include <numeric>

#include "rueda/backend/gradient_arena.hpp"

namespace rueda::cuda {
namespace {

constexpr std::size_t kEngineAlignment = 16;

/// Bytes, 16 at most, that the place of a tensor in an arena is a multiple of.
std::int64_t alignment_in_arena(const Graph& graph, ParameterId id, Element element) {
  const std::size_t place = GradientLayout(graph).lead() + graph.parameter(id).offset;
  return static_cast<std::int64_t>(std::gcd(place * bytes_of(element), kEngineAlignment));
}

TensorSpec activation(const OperationRequest& r, NodeId node) {
  const ImageShape s = r.shape_of(node);
  return channels_last({s.images, stored_channels(r.graph, node, r.context), s.height, s.width},
                       cudnn_type(r.element()));
}

TensorSpec in_fp32(TensorSpec spec) {
  spec.type = CUDNN_DATA_FLOAT;
  return spec;
}

std::string extents(const TensorSpec& spec) {
  std::string text;
  for (const std::int64_t extent : spec.dims) {
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  }
  return text;
}

}  // namespace

ConvPlans::ConvPlans(const OperationRequest& r, const ConvNode& conv)
    : plans_(*r.context.plans),
      geometry_{conv.stride, conv.padding},
      precision_(r.context.precision),
      bias_(conv.bias != kNone),
      residual_(r.has_residual()),
      x_(activation(r, r.input())),
      y_(activation(r, r.node)) {
  w_ = channels_last({conv.filters, x_.dims[1], conv.kernel, conv.kernel}, cudnn_type(r.element()));
  dw_ = w_;
  const bool padded = x_.dims[1] != r.graph.shape(r.input()).channels;
  if (padded) return;  // in memory of its own
  w_.alignment = alignment_in_arena(r.graph, conv.weight, r.element());
  if (r.element() == Element::fp32) dw_.alignment = w_.alignment;
}

std::size_t ConvPlans::weight_count() const {
  return static_cast<std::size_t>(w_.dims[0] * w_.strides[0]);
}

/// Everything that an engine's fitness depends on.
std::string ConvPlans::key(const char* what) const {
  return std::string(what) + " " + to_string(precision_) + " " + extents(x_) + " by " +
         extents(w_) + " stride " + std::to_string(geometry_.stride) + " padding " +
         std::to_string(geometry_.padding) +
         (w_.alignment == 16 ? "" : " aligned " + std::to_string(w_.alignment));
}

const CudnnPlan* ConvPlans::forward(bool fused) const {
  const bool bias = fused && bias_;
  const bool residual = fused && residual_;
  const std::string name =
      key("forward") + (bias ? " + bias" : "") + (residual ? " + residual" : "");
  return plans_.find(name, [&](CudnnGraph& g) {
    const auto y = g.tensor(kY, y_);
    auto result = bias || residual ? g.intermediate(in_fp32(y_)) : y;
    g.conv_forward(g.tensor(kX, x_), g.tensor(kW, w_), result, geometry_);
    if (bias) {
      const auto sum = residual ? g.intermediate(in_fp32(y_)) : y;
      g.binary(CUDNN_POINTWISE_ADD, result, g.tensor(kBias, per_channel(y_.dims[1])), sum);
      result = sum;
    }
    if (residual) g.binary(CUDNN_POINTWISE_ADD, result, g.tensor(kResidual, y_), y);
  });
}

const CudnnPlan* ConvPlans::data_gradient() const {
  return plans_.find(key("data gradient"), [&](CudnnGraph& g) {
    g.conv_data_gradient(g.tensor(kDy, y_), g.tensor(kW, w_), g.tensor(kX, x_), geometry_);
  });
}

const CudnnPlan* ConvPlans::weight_gradient() const {
  return plans_.find(key("weight gradient"), [&](CudnnGraph& g) {
    g.conv_weight_gradient(g.tensor(kX, x_), g.tensor(kDy, y_), g.tensor(kW, dw_), geometry_);
  });
}

}  // namespace rueda::cuda
