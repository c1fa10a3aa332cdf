#include "cpu/operations.hpp"

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

/// Batch normalisation, ReLU fused where asked for. Scale, shift and their
/// gradients lie in the arenas; training writes the batch's mean and biased
/// variance into the statistics arena, inference reads the running ones.
class BatchNorm final : public PrimitiveOperation {
 public:
  BatchNorm(const OperationRequest& r, const BatchNormNode& norm)
      : PrimitiveOperation(r),
        norm_(norm),
        data_(r.input_desc()),
        channels_(std::size_t(r.self().output.channels)),
        forward_desc_(r.context.plan<Forward>(r.forward_kind(), data_, data_, norm.epsilon,
                                              flags_of(norm, r.mode))) {
    r.context.accept(forward_desc_, r.self().name, "forward");
    if (r.mode != Mode::train) return;
    backward_desc_ = r.context.plan<Backward>(dnnl::prop_kind::backward, data_, data_, data_,
                                              norm.epsilon, flags_of(norm, r.mode), forward_desc_);
    r.context.accept(backward_desc_, r.self().name, "backward");
  }

  OperationNeeds needs() const override {
    return {.workspace_bytes = forward_desc_.workspace_desc().get_size(), .keeps_input = true};
  }

  void bind(const OperationMemory& m) override {
    auto shared = statistics();
    shared.emplace(DNNL_ARG_SRC, r_.context.at(data_, m.inputs.front()));
    shared.emplace(DNNL_ARG_SCALE, channel_vector(r_.value(norm_.gamma)));
    if (m.workspace != nullptr)
      shared.emplace(DNNL_ARG_WORKSPACE,
                     r_.context.at(forward_desc_.workspace_desc(), m.workspace));
    auto arguments = shared;
    arguments.emplace(DNNL_ARG_SHIFT, channel_vector(r_.value(norm_.beta)));
    arguments.emplace(DNNL_ARG_DST, r_.context.at(data_, m.output));
    forward_ = {r_.context.call<Forward>(forward_desc_, arguments)};
    if (!backward_desc_) return;
    if (kBackwardTakesShift) shared.emplace(DNNL_ARG_SHIFT, channel_vector(r_.value(norm_.beta)));
    shared.emplace(DNNL_ARG_DIFF_DST, r_.context.at(data_, m.output_gradients.front()));
    shared.emplace(DNNL_ARG_DIFF_SRC, r_.context.at(data_, m.input_gradients.front()));
    shared.emplace(DNNL_ARG_DIFF_SCALE, channel_vector(r_.gradient(norm_.gamma)));
    shared.emplace(DNNL_ARG_DIFF_SHIFT, channel_vector(r_.gradient(norm_.beta)));
    backward_ = {r_.context.call<Backward>(backward_desc_, shared)};
  }

 private:
  dnnl::memory channel_vector(float* where) const {
    return r_.context.at(vector_desc(channels_), where);
  }

  std::unordered_map<int, dnnl::memory> statistics() const {
    const auto& p = r_.context.parameters;
    float* first = (r_.mode == Mode::train ? p.batch_statistics : p.running_statistics).data() +
                   norm_.statistics_offset;
    return {{DNNL_ARG_MEAN, channel_vector(first)},
            {DNNL_ARG_VARIANCE, channel_vector(first + channels_)}};
  }

  BatchNormNode norm_;
  dnnl::memory::desc data_;
  std::size_t channels_;
  Forward::primitive_desc forward_desc_;
  Backward::primitive_desc backward_desc_;
};

}  // namespace

std::unique_ptr<Operation> make(const OperationRequest& request, const BatchNormNode& norm) {
  return std::make_unique<BatchNorm>(request, norm);
}

}  // namespace rueda::cpu
