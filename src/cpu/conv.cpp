#include <optional>
#include <string_view>
#include <utility>

#include "operations.hpp"
#include "rueda/backend/memory_plan.hpp"

namespace rueda::cpu {
namespace {

using dnnl::memory;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

/// Shapes of one convolution; the weights' layout is left to oneDNN, the
/// activations' is ours. Weights are of the activations' type, their gradient
/// and the bias are fp32.
struct ConvShape {
  memory::desc source, weights, weights_gradient, bias, output;
  memory::dims strides, padding;

  ConvShape(const OperationRequest& r, const ConvNode& conv, bool plain = false)
      : source(r.context.desc(r.graph, r.input(), r.batch, plain)),
        output(r.context.desc(r.graph, r.node, r.batch, plain)) {
    const Parameter& weight = r.graph.parameter(conv.weight);
    weights = conv_weight_desc(weight, r.input_view().bf16, memory::format_tag::any);
    weights_gradient = conv_weight_desc(weight, false, memory::format_tag::any);
    if (conv.bias != kNone) bias = vector_desc(std::size_t(conv.filters));
    strides = {conv.stride, conv.stride};
    padding = {conv.padding, conv.padding};
  }
};

Forward::primitive_desc plan_forward(const ConvShape& s, const OperationRequest& r) {
  dnnl::post_ops after;
  if (r.has_residual()) after.append_binary(dnnl::algorithm::binary_add, s.output);
  return r.context.plan_with<Forward>(after, r.forward_kind(), kAlgorithm, s.source, s.weights,
                                      s.bias, s.output, s.strides, s.padding, s.padding);
}

BackwardWeights::primitive_desc plan_backward_weights(const ConvShape& s, const Context& context,
                                                      const Forward::primitive_desc& forward) {
  return context.plan<BackwardWeights>(kAlgorithm, s.source, s.weights_gradient, s.bias, s.output,
                                       s.strides, s.padding, s.padding, forward);
}

template <typename PrimitiveDesc>
bool is_reference(const PrimitiveDesc& descriptor) {
  return std::string_view(descriptor.impl_info_str()).starts_with("ref");
}

/// Convolution in its three directions; a second input is added to its output. The weight gradient
/// comes in the kernel's own layout and is unpacked into the arena; bias and bias gradient lie in
/// the arenas directly.
class Conv final : public PrimitiveOperation {
 public:
  Conv(const OperationRequest& r, const ConvNode& conv)
      : PrimitiveOperation(r),
        conv_(conv),
        shape_(r, conv),
        forward_desc_(plan_forward(shape_, r)) {
    r_.context.request_scratch(forward_desc_);
    weights_ = r_.context.packed.request(conv.weight, forward_desc_.weights_desc());
    if (r.mode == Mode::train) plan_backward(r.input() != r.graph.input());
  }

  OperationNeeds needs() const override {
    return {.keeps_input = true, .passes_gradient = r_.has_residual() ? 0b10U : 0U};
  }

  void bind(const OperationMemory& m) override {
    bind_forward(m);
    if (m.output_gradients.empty()) return;
    if (data_desc_ && m.input_gradients.front() != nullptr) bind_backward_data(m);
    bind_backward_weights(m);
  }

  bool run(Product product) override {
    if (product == Product::data && !data_desc_) return false;
    PrimitiveCall& call = product == Product::forward ? forward_.front()
                          : product == Product::data  ? backward_.front()
                                                      : *(backward_.end() - 2);  // then unpacked
    call.run(r_.context.stream);
    return true;
  }

 private:
  void plan_backward(bool wants_data) {
    weights_desc_ = plan_backward_weights(shape_, r_.context, forward_desc_);
    if (is_reference(weights_desc_)) plan_plain_weights();
    r_.context.request_scratch(weights_desc_, gradient_room() + staging_room());
    if (!wants_data) return;
    data_desc_ = r_.context.plan<BackwardData>(kAlgorithm, shape_.source, shape_.weights,
                                               shape_.output, shape_.strides, shape_.padding,
                                               shape_.padding, forward_desc_);
    r_.context.request_scratch(data_desc_);
    data_weights_ = r_.context.packed.request(conv_.weight, data_desc_.weights_desc());
  }

  /// For the weight gradient on maps of a pixel or two oneDNN has only its
  /// reference loop in a blocked layout, hundreds of times slower than the
  /// matrix product it has for plain activations; these maps are so small that
  /// staging plain copies costs nothing.
  void plan_plain_weights() {
    ConvShape staged(r_, conv_, true);
    auto descriptor = plan_backward_weights(staged, r_.context, plan_forward(staged, r_));
    if (is_reference(descriptor)) return;
    weights_desc_ = std::move(descriptor);
    staged_.emplace(std::move(staged));
  }

  /// Bytes after the weight gradient that hold plain copies of its two operands, if it needs them.
  std::size_t staging_room() const {
    if (!staged_) return 0;
    return aligned_bytes(staged_->source.get_size()) + aligned_bytes(staged_->output.get_size());
  }

  /// Bytes at the start of the scratch area that hold the weight gradient before it is unpacked.
  std::size_t gradient_room() const {
    return aligned_bytes(weights_desc_.diff_weights_desc().get_size());
  }

  void bind_forward(const OperationMemory& m) {
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, r_.context.at(shape_.source, m.inputs.front())},
        {DNNL_ARG_WEIGHTS, r_.context.packed.memory(weights_)},
        {DNNL_ARG_DST, r_.context.at(shape_.output, m.output)}};
    if (conv_.bias != kNone)
      arguments.emplace(DNNL_ARG_BIAS, r_.context.at(shape_.bias, r_.value(conv_.bias)));
    if (r_.has_residual())
      arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                        r_.context.at(shape_.output, m.inputs[1]));
    forward_ = {r_.context.call<Forward>(forward_desc_, std::move(arguments))};
  }

  void bind_backward_weights(const OperationMemory& m) {
    const Context& context = r_.context;
    const auto arena =
        context.at(conv_weight_desc(r_.graph.parameter(conv_.weight)), r_.gradient(conv_.weight));
    const auto packed = context.at(weights_desc_.diff_weights_desc(), context.scratch.data());
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, context.at(shape_.source, m.inputs.front())},
        {DNNL_ARG_DIFF_DST, context.at(shape_.output, m.output_gradients.front())},
        {DNNL_ARG_DIFF_WEIGHTS, packed}};
    if (staged_) bind_staging(arguments);
    if (conv_.bias != kNone)
      arguments.emplace(DNNL_ARG_DIFF_BIAS, context.at(shape_.bias, r_.gradient(conv_.bias)));
    backward_.push_back(context.call<BackwardWeights>(weights_desc_, std::move(arguments),
                                                      gradient_room() + staging_room()));
    backward_.push_back(reorder_call(packed, arena));
  }

  /// Lets the weight gradient read plain copies instead of the activations themselves.
  void bind_staging(std::unordered_map<int, memory>& arguments) {
    std::byte* room = r_.context.scratch.data() + gradient_room();
    const auto stage = [&](int argument, const memory::desc& desc) {
      const memory copy = r_.context.at(desc, room);
      room += aligned_bytes(desc.get_size());
      backward_.push_back(reorder_call(std::exchange(arguments.at(argument), copy), copy));
    };
    stage(DNNL_ARG_SRC, staged_->source);
    stage(DNNL_ARG_DIFF_DST, staged_->output);
  }

  void bind_backward_data(const OperationMemory& m) {
    backward_.push_back(r_.context.call<BackwardData>(
        data_desc_,
        {{DNNL_ARG_DIFF_DST, r_.context.at(shape_.output, m.output_gradients.front())},
         {DNNL_ARG_WEIGHTS, r_.context.packed.memory(data_weights_)},
         {DNNL_ARG_DIFF_SRC, r_.context.at(shape_.source, m.input_gradients.front())}}));
  }

  ConvNode conv_;
  ConvShape shape_;
  std::optional<ConvShape>
      staged_;  ///< with plain activations, where the weight gradient needs them
  Forward::primitive_desc forward_desc_;
  BackwardWeights::primitive_desc weights_desc_;
  BackwardData::primitive_desc data_desc_;
  PackedWeights::Slot weights_ = 0;
  PackedWeights::Slot data_weights_ = 0;
};

}  // namespace

std::unique_ptr<Operation> make(const OperationRequest& request, const ConvNode& conv) {
  return std::make_unique<Conv>(request, conv);
}

}  // namespace rueda::cpu
