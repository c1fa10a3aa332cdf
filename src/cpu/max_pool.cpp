#include <optional>

#include "operations.hpp"
#include "primitive_call.hpp"

namespace rueda::cpu {
namespace {

using Forward = dnnl::pooling_forward;
using Backward = dnnl::pooling_backward;

constexpr auto kAlgorithm = dnnl::algorithm::pooling_max;

/// Max pooling; the workspace remembers which input won.
class MaxPool final : public Operation {
 public:
  MaxPool(const OperationRequest& r, const MaxPoolNode& pool)
      : context_(r.context),
        source_(r.input_desc()),
        output_(r.output_desc()),
        strides_{pool.stride, pool.stride},
        kernel_{pool.kernel, pool.kernel},
        padding_{pool.padding, pool.padding},
        forward_desc_(plan_forward(r.mode)) {
    context_.request_scratch(forward_desc_.scratchpad_desc().get_size());
    if (r.mode != Mode::train) return;
    backward_desc_.emplace(
        Backward::desc{kAlgorithm, source_, output_, strides_, kernel_, padding_, padding_},
        user_scratchpad(), context_.engine, forward_desc_);
    context_.request_scratch(backward_desc_->scratchpad_desc().get_size());
  }

  OperationNeeds needs() const override {
    return {.workspace_bytes = forward_desc_.workspace_desc().get_size()};
  }

  void bind(const OperationMemory& m) override {
    forward_.primitive = Forward(forward_desc_);
    forward_.arguments = {{DNNL_ARG_SRC, context_.at(source_, m.inputs.front())},
                          {DNNL_ARG_DST, context_.at(output_, m.output)}};
    add_workspace(forward_, context_, forward_desc_, m.workspace);
    add_scratchpad(forward_, context_, forward_desc_);
    if (!backward_desc_ || m.input_gradients.front() == nullptr) return;
    backward_.primitive = Backward(*backward_desc_);
    backward_.arguments = {{DNNL_ARG_DIFF_DST, context_.at(output_, m.output_gradients.front())},
                           {DNNL_ARG_DIFF_SRC, context_.at(source_, m.input_gradients.front())}};
    add_workspace(backward_, context_, forward_desc_, m.workspace);
    add_scratchpad(backward_, context_, *backward_desc_);
  }

  void forward() override { forward_.run(context_.stream); }
  void backward() override {
    if (backward_.primitive) backward_.run(context_.stream);
  }

 private:
  Forward::primitive_desc plan_forward(Mode mode) const {
    const auto kind = mode == Mode::train ? dnnl::prop_kind::forward_training
                                          : dnnl::prop_kind::forward_inference;
    return {{kind, kAlgorithm, source_, output_, strides_, kernel_, padding_, padding_},
            user_scratchpad(),
            context_.engine};
  }

  Context& context_;
  dnnl::memory::desc source_, output_;
  dnnl::memory::dims strides_, kernel_, padding_;
  Forward::primitive_desc forward_desc_;
  std::optional<Backward::primitive_desc> backward_desc_;
  PrimitiveCall forward_, backward_;
};

}  // namespace

std::unique_ptr<Operation> make_max_pool(const OperationRequest& request, const MaxPoolNode& pool) {
  return std::make_unique<MaxPool>(request, pool);
}

}  // namespace rueda::cpu
