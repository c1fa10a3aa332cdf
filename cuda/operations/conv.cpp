#include <optional>

#include "cuda/cudnn/conv_plans.hpp"
#include "rueda/backend/memory_plan.hpp"
#include "rueda/core/error.hpp"

namespace rueda::cuda {
namespace {

/// Convolution in its three directions by cuDNN, bias and residual addition in the forward epilogue
/// where an engine has that. The weight gradient goes to the arena at once where it is fp32 and
/// unpadded; else it is staged in scratch memory and converted.
class Conv final : public Operation {
 public:
  Conv(const OperationRequest& r, const ConvNode& conv)
      : context_(r.context),
        graph_(r.graph),
        name_(r.self().name),
        conv_(conv),
        plans_(r, conv),
        element_(r.element()),
        rows_(r.rows_of(r.node)),
        input_channels_(r.graph.shape(r.input()).channels),
        residual_(r.has_residual()) {
    context_.packed.request(r.graph, conv.weight, element_, plans_.stored_input_channels());
    plan_forward(r.full);
    if (r.mode == Mode::train) plan_backward(r.input() != r.graph.input());
  }

  OperationNeeds needs() const override {
    return {.keeps_input = true, .passes_gradient = residual_ ? 0b10U : 0U};
  }

  void bind(const OperationMemory& m) override {
    memory_ = m;
    void* weights = const_cast<void*>(context_.packed.at(graph_, conv_.weight));
    bind_forward(weights);
    if (m.output_gradients.empty()) return;
    void* dy = m.output_gradients[0];
    weights_pack_ = bind_tensors(
        {{ConvPlans::kX, m.inputs[0]}, {ConvPlans::kDy, dy}, {ConvPlans::kW, gradient_target()}},
        plan_workspace());
    if (data_ == nullptr || m.input_gradients[0] == nullptr) return;
    data_pack_ = bind_tensors(
        {{ConvPlans::kDy, dy}, {ConvPlans::kW, weights}, {ConvPlans::kX, m.input_gradients[0]}},
        plan_workspace());
  }

  void forward() override {
    execute(forward_, forward_pack_);
    if (fused_ || (conv_.bias == kNone && !residual_)) return;
    const float* bias = conv_.bias == kNone ? nullptr : context_.value(graph_, conv_.bias);
    check(add_bias(element_, memory_.output, memory_.output, bias,
                   residual_ ? memory_.inputs[1] : nullptr, rows_, conv_.filters,
                   context_.stream.get()),
          "add_bias");
  }

  void backward() override {
    if (data_pack_) execute(data_, data_pack_);
    execute(weights_, weights_pack_);
    unpack();
    if (conv_.bias == kNone) return;
    check(column_sums(element_, context_.gradient(graph_, conv_.bias), memory_.output_gradients[0],
                      rows_, conv_.filters, context_.scratch_floats(), context_.stream.get()),
          "column_sums");
  }

 private:
  const CudnnPlan* require(const CudnnPlan* plan, const char* what) {
    if (plan == nullptr) {
      throw RunError("cuDNN has no engine for the " + std::string(what) + " of layer " + name_ +
                     " in this precision on this GPU" +
                     (context_.deterministic ? ", none that is deterministic; try without "
                                               "--deterministic"
                                             : ""));
    }
    context_.request_scratch(staging_bytes() + plan->workspace_bytes);
    return plan;
  }

  /// Engines with an epilogue are compiled when they are planned, most of a second each.
  void plan_forward(bool fuse) {
    if (fuse) forward_ = plans_.forward(true);
    fused_ = forward_ != nullptr;
    if (!fused_) forward_ = plans_.forward(false);
    require(forward_, "forward pass");
  }

  void plan_backward(bool wants_data) {
    weights_ = require(plans_.weight_gradient(), "weight gradient");
    if (wants_data) data_ = require(plans_.data_gradient(), "data gradient");
    if (conv_.bias != kNone) {
      context_.request_scratch(norm_partial_floats(rows_, conv_.filters) * sizeof(float));
    }
  }

  bool padded() const { return plans_.stored_input_channels() != input_channels_; }
  bool staged() const { return padded() || element_ != Element::fp32; }
  /// At the start of the scratch memory, before the workspace.
  std::size_t staging_bytes() const {
    return staged() ? aligned_bytes(plans_.weight_count() * bytes_of(element_)) : 0;
  }
  void* plan_workspace() const {
    return static_cast<std::byte*>(context_.scratch.get()) + staging_bytes();
  }
  void* gradient_target() const {
    return staged() ? context_.scratch.get()
                    : static_cast<void*>(context_.gradient(graph_, conv_.weight));
  }

  void bind_forward(void* weights) {
    std::vector<std::pair<CudnnGraph::Tensor, void*>> tensors = {{ConvPlans::kX, memory_.inputs[0]},
                                                                 {ConvPlans::kW, weights},
                                                                 {ConvPlans::kY, memory_.output}};
    if (fused_ && conv_.bias != kNone) {
      tensors.emplace_back(ConvPlans::kBias, context_.value(graph_, conv_.bias));
    }
    if (fused_ && residual_) tensors.emplace_back(ConvPlans::kResidual, memory_.inputs[1]);
    forward_pack_ = bind_tensors(tensors, plan_workspace());
  }

  void execute(const CudnnPlan* plan, const Descriptor& tensors) {
    check(cudnnBackendExecute(context_.cudnn.get(), plan->plan.get(), tensors.get()),
          "cudnnBackendExecute");
  }

  void unpack() {
    if (!staged()) return;
    float* to = context_.gradient(graph_, conv_.weight);
    const std::size_t stored = static_cast<std::size_t>(plans_.stored_input_channels());
    if (padded()) {
      check(drop_channels(element_, to, context_.scratch.get(), plans_.weight_count() / stored,
                          plans_.stored_input_channels(), input_channels_, context_.stream.get()),
            "drop_channels");
    } else {
      check(to_fp32(element_, to, context_.scratch.get(), plans_.weight_count(),
                    context_.stream.get()),
            "to_fp32");
    }
  }

  Context& context_;
  const Graph& graph_;
  std::string name_;
  ConvNode conv_;
  ConvPlans plans_;
  Element element_;
  std::size_t rows_;
  int input_channels_;
  bool residual_;
  bool fused_ = false;
  const CudnnPlan* forward_ = nullptr;
  const CudnnPlan* data_ = nullptr;
  const CudnnPlan* weights_ = nullptr;
  Descriptor forward_pack_, data_pack_, weights_pack_;
  OperationMemory memory_;
};

}  // namespace

std::unique_ptr<Operation> make_conv(const OperationRequest& request, const ConvNode& conv) {
  return std::make_unique<Conv>(request, conv);
}

}  // namespace rueda::cuda
