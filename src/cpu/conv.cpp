#include <optional>

#include "operations.hpp"
#include "primitive_call.hpp"
#include "rueda/backend/memory_plan.hpp"

namespace rueda::cpu {
namespace {

using dnnl::memory;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

/// Shapes of one convolution; the weights' layout is left to oneDNN, the activations' is ours.
struct ConvShape {
  memory::desc source, weights, bias, output;
  memory::dims strides, padding;

  ConvShape(const OperationRequest& r, const ConvNode& conv)
      : source(r.input_desc()), output(r.output_desc()) {
    const auto plain = arena_conv_desc(r.graph.parameter(conv.weight));
    weights = memory::desc(plain.dims(), memory::data_type::f32, memory::format_tag::any);
    if (conv.bias != kNone) bias = vector_desc(static_cast<std::size_t>(conv.filters));
    strides = {conv.stride, conv.stride};
    padding = {conv.padding, conv.padding};
  }
};

Forward::primitive_desc plan_forward(const ConvShape& s, Mode mode, const dnnl::engine& engine) {
  const auto kind =
      mode == Mode::train ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  return {
      {kind, kAlgorithm, s.source, s.weights, s.bias, s.output, s.strides, s.padding, s.padding},
      user_scratchpad(),
      engine};
}

/// Convolution in its three directions. The weight gradient comes in the kernel's own layout and is
/// unpacked into the arena; bias and bias gradient lie in the arenas directly.
class Conv final : public Operation {
 public:
  Conv(const OperationRequest& r, const ConvNode& conv)
      : context_(r.context),
        graph_(r.graph),
        conv_(conv),
        shape_(r, conv),
        forward_desc_(plan_forward(shape_, r.mode, r.context.engine)) {
    context_.request_scratch(forward_desc_.scratchpad_desc().get_size());
    weights_ = context_.packed.request(conv.weight, forward_desc_.weights_desc());
    if (r.mode == Mode::train) plan_backward(r.input() != r.graph.input());
  }

  OperationNeeds needs() const override { return {.keeps_inputs = true}; }

  void bind(const OperationMemory& m) override {
    bind_forward(m);
    if (!m.output_gradients.empty()) bind_backward_weights(m);
    if (data_desc_ && m.input_gradients.front() != nullptr) bind_backward_data(m);
  }

  void forward() override { forward_.run(context_.stream); }

  void backward() override {
    if (data_.primitive) data_.run(context_.stream);
    weights_gradient_.run(context_.stream);
    if (unpack_.primitive) unpack_.run(context_.stream);
  }

 private:
  void plan_backward(bool wants_data) {
    weights_desc_.emplace(
        BackwardWeights::desc{kAlgorithm, shape_.source, shape_.weights, shape_.bias, shape_.output,
                              shape_.strides, shape_.padding, shape_.padding},
        user_scratchpad(), context_.engine, forward_desc_);
    context_.request_scratch(gradient_room() + weights_desc_->scratchpad_desc().get_size());
    if (!wants_data) return;
    data_desc_.emplace(BackwardData::desc{kAlgorithm, shape_.source, shape_.weights, shape_.output,
                                          shape_.strides, shape_.padding, shape_.padding},
                       user_scratchpad(), context_.engine, forward_desc_);
    context_.request_scratch(data_desc_->scratchpad_desc().get_size());
    data_weights_ = context_.packed.request(conv_.weight, data_desc_->weights_desc());
  }

  /// Bytes at the start of the scratch area that hold the weight gradient before it is unpacked.
  std::size_t gradient_room() const {
    return aligned_bytes(weights_desc_->diff_weights_desc().get_size());
  }

  void bind_forward(const OperationMemory& m) {
    forward_.primitive = Forward(forward_desc_);
    forward_.arguments = {{DNNL_ARG_SRC, context_.at(shape_.source, m.inputs.front())},
                          {DNNL_ARG_WEIGHTS, context_.packed.memory(weights_)},
                          {DNNL_ARG_DST, context_.at(shape_.output, m.output)}};
    if (conv_.bias != kNone) {
      forward_.arguments.emplace(DNNL_ARG_BIAS,
                                 context_.at(shape_.bias, context_.value(graph_, conv_.bias)));
    }
    add_scratchpad(forward_, context_, forward_desc_);
  }

  void bind_backward_weights(const OperationMemory& m) {
    const auto arena = context_.at(arena_conv_desc(graph_.parameter(conv_.weight)),
                                   context_.gradient(graph_, conv_.weight));
    const auto packed = context_.at(weights_desc_->diff_weights_desc(), context_.scratch->data());
    weights_gradient_.primitive = BackwardWeights(*weights_desc_);
    weights_gradient_.arguments = {
        {DNNL_ARG_SRC, context_.at(shape_.source, m.inputs.front())},
        {DNNL_ARG_DIFF_DST, context_.at(shape_.output, m.output_gradients.front())},
        {DNNL_ARG_DIFF_WEIGHTS, packed}};
    if (conv_.bias != kNone) {
      weights_gradient_.arguments.emplace(
          DNNL_ARG_DIFF_BIAS, context_.at(shape_.bias, context_.gradient(graph_, conv_.bias)));
    }
    add_scratchpad(weights_gradient_, context_, *weights_desc_, gradient_room());
    unpack_.primitive = dnnl::reorder(packed, arena);
    unpack_.arguments = {{DNNL_ARG_FROM, packed}, {DNNL_ARG_TO, arena}};
  }

  void bind_backward_data(const OperationMemory& m) {
    data_.primitive = BackwardData(*data_desc_);
    data_.arguments = {{DNNL_ARG_DIFF_DST, context_.at(shape_.output, m.output_gradients.front())},
                       {DNNL_ARG_WEIGHTS, context_.packed.memory(data_weights_)},
                       {DNNL_ARG_DIFF_SRC, context_.at(shape_.source, m.input_gradients.front())}};
    add_scratchpad(data_, context_, *data_desc_);
  }

  Context& context_;
  const Graph& graph_;
  ConvNode conv_;
  ConvShape shape_;
  Forward::primitive_desc forward_desc_;
  std::optional<BackwardWeights::primitive_desc> weights_desc_;
  std::optional<BackwardData::primitive_desc> data_desc_;
  PackedWeights::Slot weights_ = 0;
  PackedWeights::Slot data_weights_ = 0;
  PrimitiveCall forward_, data_, weights_gradient_, unpack_;
};

}  // namespace

std::unique_ptr<Operation> make_conv(const OperationRequest& request, const ConvNode& conv) {
  return std::make_unique<Conv>(request, conv);
}

}  // namespace rueda::cpu
