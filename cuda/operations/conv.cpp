#include <fmt/format.h>

#include "cuda/cudnn/conv_plans.hpp"
#include "rueda/backend/memory_plan.hpp"
#include "rueda/core/error.hpp"

namespace rueda::cuda {
namespace {

/// cuDNN says nothing of a workspace's alignment; cudaMalloc's own is safe.
constexpr std::size_t kWorkspaceAlignment = 256;

/// Convolution in its three directions by cuDNN, bias and residual addition in
/// the forward epilogue where an engine has that. The weight gradient goes to
/// the arena at once where it is fp32 and unpadded. In bf16 it is converted
/// together with others; a padded one is staged in scratch memory.
class Conv final : public Operation {
 public:
  Conv(const OperationRequest& r, const ConvNode& conv) : r_(r), conv_(conv), plans_(r, conv) {
    r.context.packed.request(r.graph, conv.weight, r.element(), plans_.stored_input_channels());
    plan_forward(r.full);
    if (r.mode == Mode::train) plan_backward(r.input() != r.graph.input());
  }

  OperationNeeds needs() const override {
    return {.keeps_input = true, .passes_gradient = r_.has_residual() ? 0b10U : 0U};
  }

  void bind(const OperationMemory& m) override {
    memory_ = m;
    void* weights = const_cast<void*>(r_.context.packed.at(r_.graph, conv_.weight));
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
    if (fused_ || (conv_.bias == kNone && !r_.has_residual())) return;
    const float* bias = conv_.bias == kNone ? nullptr : r_.context.value(r_.graph, conv_.bias);
    check(add_bias(r_.element(), memory_.output, memory_.output, bias,
                   r_.has_residual() ? memory_.inputs[1] : nullptr, r_.rows_of(r_.node),
                   conv_.filters, r_.stream()),
          "add_bias");
  }

  void backward() override {
    if (data_pack_) execute(data_, data_pack_);
    execute(weights_, weights_pack_);
    unpack();
    if (conv_.bias == kNone) return;
    check(column_sums(r_.element(), r_.context.gradient(r_.graph, conv_.bias),
                      memory_.output_gradients[0], r_.rows_of(r_.node), conv_.filters,
                      r_.context.scratch_floats(), r_.stream()),
          "column_sums");
  }

 private:
  const CudnnPlan* require(const CudnnPlan* plan, const char* what) {
    if (plan == nullptr) {
      const char* why = r_.context.deterministic
                            ? ", none that is deterministic; try without --deterministic"
                            : "";
      const auto& failures = r_.context.plans->failures();
      const std::string tried = failures.empty() ? "" : "; left out: " + failures.back();
      throw RunError(fmt::format(
          "cuDNN has no engine for the {} of layer {} in this precision on this GPU{}{}", what,
          r_.self().name, why, tried));
    }
    r_.context.request_scratch(staging_bytes() + plan->workspace_bytes);
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
    weights_ = require(plans_.gradient(ConvDirection::weight_gradient), "weight gradient");
    if (wants_data) data_ = require(plans_.gradient(ConvDirection::data_gradient), "data gradient");
    if (conv_.bias != kNone) {
      r_.context.request_scratch(norm_partial_floats(r_.rows_of(r_.node), conv_.filters) *
                                 sizeof(float));
    }
  }

  bool padded() const {
    return plans_.stored_input_channels() != r_.graph.shape(r_.input()).channels;
  }
  /// At the start of the scratch memory, before the workspace.
  std::size_t staging_bytes() const {
    const std::size_t bytes = plans_.weight_count() * bytes_of(r_.element());
    return padded() ? aligned_bytes(bytes, kWorkspaceAlignment) : 0;
  }
  void* plan_workspace() const {
    return static_cast<std::byte*>(r_.context.scratch.get()) + staging_bytes();
  }
  void* gradient_target() const {
    if (padded()) return r_.context.scratch.get();
    if (r_.element() == Element::fp32) return r_.context.gradient(r_.graph, conv_.weight);
    return r_.context.packed.gradient_at(r_.graph, conv_.weight);
  }
  /// Whether backward computes no weight gradient after this one.
  bool is_last_in_backward() const {
    for (NodeId node = 1; node < r_.node; ++node)
      if (std::holds_alternative<ConvNode>(r_.graph.node(node).kind)) return false;
    return true;
  }

  void bind_forward(void* weights) {
    std::vector<std::pair<CudnnGraph::Tensor, void*>> tensors = {{ConvPlans::kX, memory_.inputs[0]},
                                                                 {ConvPlans::kW, weights},
                                                                 {ConvPlans::kY, memory_.output}};
    if (fused_ && conv_.bias != kNone)
      tensors.emplace_back(ConvPlans::kBias, r_.context.value(r_.graph, conv_.bias));
    if (fused_ && r_.has_residual()) tensors.emplace_back(ConvPlans::kResidual, memory_.inputs[1]);
    forward_pack_ = bind_tensors(tensors, plan_workspace());
  }

  void execute(const CudnnPlan* plan, const Descriptor& tensors) {
    check(cudnnBackendExecute(r_.context.cudnn.get(), plan->plan.get(), tensors.get()),
          "cudnnBackendExecute");
  }

  void unpack() {
    float* arena = r_.context.parameters.gradients.data();
    if (padded()) {
      const int stored = plans_.stored_input_channels();
      check(drop_channels(r_.element(), r_.context.gradient(r_.graph, conv_.weight),
                          r_.context.scratch.get(), plans_.weight_count() / std::size_t(stored),
                          stored, r_.graph.shape(r_.input()).channels, r_.stream()),
            "drop_channels");
    } else if (r_.element() == Element::bf16) {
      r_.context.packed.gradient_computed(r_.graph, conv_.weight, arena, r_.stream());
    }
    if (is_last_) r_.context.packed.unpack_gradients(arena, r_.stream());
  }

  OperationRequest r_;
  ConvNode conv_;
  ConvPlans plans_;
  bool is_last_ = is_last_in_backward();
  bool fused_ = false;
  const CudnnPlan* forward_ = nullptr;
  const CudnnPlan* data_ = nullptr;
  const CudnnPlan* weights_ = nullptr;
  Descriptor forward_pack_, data_pack_, weights_pack_;
  OperationMemory memory_;
};

}  // namespace

OperationPtr make_operation(const OperationRequest& request, const ConvNode& conv) {
  return std::make_unique<Conv>(request, conv);
}

}  // namespace rueda::cuda
