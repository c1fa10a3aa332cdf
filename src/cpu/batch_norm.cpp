#include <optional>

#include "operations.hpp"
#include "primitive_call.hpp"

namespace rueda::cpu {
namespace {

using Forward = dnnl::batch_normalization_forward;
using Backward = dnnl::batch_normalization_backward;
using Flags = dnnl::normalization_flags;

Flags flags_of(const BatchNormNode& norm, Mode mode) {
  Flags flags = Flags::use_scale | Flags::use_shift;
  if (norm.relu) flags = flags | Flags::fuse_norm_relu;
  if (mode == Mode::infer) flags = flags | Flags::use_global_stats;
  return flags;
}

Forward::primitive_desc plan_forward(const OperationRequest& r, const BatchNormNode& norm) {
  const auto kind = r.mode == Mode::train ? dnnl::prop_kind::forward_training
                                          : dnnl::prop_kind::forward_inference;
  return {{kind, r.input_desc(), norm.epsilon, flags_of(norm, r.mode)},
          user_scratchpad(),
          r.context.engine};
}

/// Batch normalisation, ReLU fused where asked for. Scale, shift and their gradients lie in the
/// arenas; training writes the batch's mean and biased variance into the statistics arena,
/// inference reads the running ones.
class BatchNorm final : public Operation {
 public:
  BatchNorm(const OperationRequest& r, const BatchNormNode& norm)
      : context_(r.context),
        graph_(r.graph),
        norm_(norm),
        mode_(r.mode),
        data_(r.input_desc()),
        channels_(static_cast<std::size_t>(r.self().output.channels)),
        forward_desc_(plan_forward(r, norm)) {
    context_.request_scratch(forward_desc_.scratchpad_desc().get_size());
    if (mode_ != Mode::train) return;
    backward_desc_.emplace(Backward::desc{dnnl::prop_kind::backward, data_, data_, norm.epsilon,
                                          flags_of(norm, mode_)},
                           user_scratchpad(), context_.engine, forward_desc_);
    context_.request_scratch(backward_desc_->scratchpad_desc().get_size());
  }

  OperationNeeds needs() const override {
    return {.workspace_bytes = forward_desc_.workspace_desc().get_size(), .keeps_input = true};
  }

  void bind(const OperationMemory& m) override {
    bind_forward(m);
    if (backward_desc_) bind_backward(m);
  }

  void forward() override { forward_.run(context_.stream); }
  void backward() override { backward_.run(context_.stream); }

 private:
  dnnl::memory channel_vector(float* where) const {
    return context_.at(vector_desc(channels_), where);
  }

  void add_statistics(PrimitiveCall& call) const {
    const auto& p = context_.parameters;
    float* first = (mode_ == Mode::train ? p.batch_statistics : p.running_statistics).data() +
                   norm_.statistics_offset;
    call.arguments.emplace(DNNL_ARG_MEAN, channel_vector(first));
    call.arguments.emplace(DNNL_ARG_VARIANCE, channel_vector(first + channels_));
  }

  void bind_forward(const OperationMemory& m) {
    forward_.primitive = Forward(forward_desc_);
    forward_.arguments = {{DNNL_ARG_SRC, context_.at(data_, m.inputs.front())},
                          {DNNL_ARG_SCALE, channel_vector(context_.value(graph_, norm_.gamma))},
                          {DNNL_ARG_SHIFT, channel_vector(context_.value(graph_, norm_.beta))},
                          {DNNL_ARG_DST, context_.at(data_, m.output)}};
    add_statistics(forward_);
    add_workspace(forward_, context_, forward_desc_, m.workspace);
    add_scratchpad(forward_, context_, forward_desc_);
  }

  void bind_backward(const OperationMemory& m) {
    backward_.primitive = Backward(*backward_desc_);
    backward_.arguments = {
        {DNNL_ARG_SRC, context_.at(data_, m.inputs.front())},
        {DNNL_ARG_DIFF_DST, context_.at(data_, m.output_gradients.front())},
        {DNNL_ARG_SCALE, channel_vector(context_.value(graph_, norm_.gamma))},
        // Backward does not need the shift, but oneDNN 2.6 refuses to run without it.
        {DNNL_ARG_SHIFT, channel_vector(context_.value(graph_, norm_.beta))},
        {DNNL_ARG_DIFF_SRC, context_.at(data_, m.input_gradients.front())},
        {DNNL_ARG_DIFF_SCALE, channel_vector(context_.gradient(graph_, norm_.gamma))},
        {DNNL_ARG_DIFF_SHIFT, channel_vector(context_.gradient(graph_, norm_.beta))}};
    add_statistics(backward_);
    add_workspace(backward_, context_, forward_desc_, m.workspace);
    add_scratchpad(backward_, context_, *backward_desc_);
  }

  Context& context_;
  const Graph& graph_;
  BatchNormNode norm_;
  Mode mode_;
  dnnl::memory::desc data_;
  std::size_t channels_;
  Forward::primitive_desc forward_desc_;
  std::optional<Backward::primitive_desc> backward_desc_;
  PrimitiveCall forward_, backward_;
};

}  // namespace

std::unique_ptr<Operation> make_batch_norm(const OperationRequest& request,
                                           const BatchNormNode& norm) {
  return std::make_unique<BatchNorm>(request, norm);
}

}  // namespace rueda::cpu
