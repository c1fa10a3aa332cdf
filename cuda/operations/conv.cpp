#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "backend/memory_plan.hpp"
#include "base/error.hpp"
#include "cuda/cudnn/conv_plans.hpp"
#include "model/gpu_fusion.hpp"

namespace rueda::cuda {
namespace {

/// cuDNN says nothing of a workspace's alignment; cudaMalloc's own is safe.
constexpr std::size_t kWorkspaceAlignment = 256;

/// Convolution in its three directions by cuDNN, bias and residual addition in
/// the forward epilogue where an engine has that, and there the sums for the
/// batch norm that reads the output. The weight gradient goes to the arena at
/// once where it is fp32 and unpadded. In bf16 it is converted together with
/// others; a padded one is staged in scratch memory.
class Conv final : public Operation {
 public:
  Conv(const OperationRequest& r, const ConvNode& conv) : r_(r), conv_(conv), plans_(r, conv) {
    r.context.packed.request(r.graph, conv.weight, r.element(), plans_.stored_input_channels());
    plan_forward(r.full);
    if (r.mode == Mode::train) plan_backward(r.input() != r.graph.input());
  }

  OperationNeeds needs() const override {
    if (r_.has_residual()) return {.keeps_input = true, .passes_gradient = 0b10};
    return {.keeps_input = true};
  }

  void bind(const OperationMemory& m) override {
    memory_ = m;
    void* weights = const_cast<void*>(r_.context.packed.at(r_.graph, conv_.weight));
    bind_forward(weights);
    recompute_pack_ = forward_tensors(weights, static_cast<float*>(r_.context.scratch.get()));
    if (m.output_gradients.empty()) return;
    void* dy = m.output_gradients[0];
    weights_pack_ = bind_tensors(
        {{ConvPlans::kX, m.inputs[0]}, {ConvPlans::kDy, dy}, {ConvPlans::kW, gradient_target()}},
        plan_workspace());
    require_run(weights_, weights_pack_, "weight gradient");
    if (data_ == nullptr || m.input_gradients[0] == nullptr) return;
    data_pack_ = bind_tensors(
        {{ConvPlans::kDy, dy}, {ConvPlans::kW, weights}, {ConvPlans::kX, m.input_gradients[0]}},
        plan_workspace());
    require_run(data_, data_pack_, "data gradient");
  }

  void forward() override {
    if (clears_sums()) {
      const auto all = std::as_writable_bytes(r_.context.parameters.batch_statistics);
      check(cudaMemsetAsync(all.data(), 0, all.size(), r_.stream()), "cudaMemsetAsync");
    }
    compute(forward_pack_);
  }
  /// The batch norm has made its statistics of the sums by now.
  void recompute() override { compute(recompute_pack_); }

  void backward() override {
    if (data_pack_) execute(data_, data_pack_);
    execute(weights_, weights_pack_);
    unpack();
    if (conv_.bias == kNone || norm_sums_bias(r_.graph, r_.node)) return;
    column_sums(r_.element(), r_.context.gradient(r_.graph, conv_.bias),
                memory_.output_gradients[0], r_.rows_of(r_.node), conv_.filters,
                r_.context.sum_scratch(), r_.stream());
  }

 private:
  void bind_forward(void* weights) {
    forward_pack_ = forward_tensors(weights, sums());
    if (fused_ != nullptr && !runs(*fused_, forward_pack_)) {
      drop_fused();
      require(forward_, "forward pass");
      forward_pack_ = forward_tensors(weights, nullptr);
    }
    if (fused_ == nullptr) require_run(forward_, forward_pack_, "forward pass");
  }

  void compute(const Descriptor& tensors) {
    if (fused_ != nullptr) return execute(fused_, tensors);
    execute(forward_, tensors);
    if (!has_epilogue()) return;
    const void* bias = nullptr;
    const void* residual = nullptr;
    if (conv_.bias != kNone) bias = r_.context.value(r_.graph, conv_.bias);
    if (r_.has_residual()) residual = memory_.inputs[1];
    add(memory_.output, bias, residual);
  }

  const CudnnPlan* require(const CudnnPlan* plan, const char* what) {
    if (plan == nullptr) refuse(what);
    r_.context.request_scratch(plan->workspace_bytes, staging_bytes());
    return plan;
  }
  [[noreturn]] void refuse(const char* what) const {
    std::string text =
        fmt::format("cuDNN has no engine for the {} of layer {} in this precision on this GPU",
                    what, r_.self().name);
    if (r_.context.deterministic)
      text += ", none that is deterministic; try without --deterministic";
    const auto& failures = r_.context.plans->failures();
    if (!failures.empty()) text += "; left out: " + failures.back();
    throw RunError(text);
  }

  bool runs(const CudnnPlan& plan, const Descriptor& tensors) const {
    return r_.context.plans->runs(plan, tensors, r_.context.workspace_room());
  }
  void require_run(const CudnnPlan* plan, const Descriptor& tensors, const char* what) {
    if (!runs(*plan, tensors)) require(nullptr, what);
  }

  bool has_epilogue() const { return conv_.bias != kNone || r_.has_residual(); }

  /// What the epilogue does.
  void add(void* y, const void* bias, const void* residual) const {
    add_bias(r_.element(), y, y, static_cast<const float*>(bias), residual, r_.rows_of(r_.node),
             conv_.filters, r_.stream());
  }

  /// Engines with an epilogue are compiled when they are planned, most of a
  /// second each. The plan without is there in case that they do not run.
  void plan_forward(bool fuse) {
    forward_ = plans_.forward(false);
    if (fuse && has_epilogue()) plan_fused();
    if (fused_ != nullptr) require(fused_, "forward pass");
    if (forward_ != nullptr || fused_ == nullptr) require(forward_, "forward pass");
  }

  /// What the sums save the batch norm is not timed. Engines that take them add
  /// by atomics, in any order, though cuDNN does not note it.
  void plan_fused() {
    if (!r_.context.deterministic) summed_ = norm_to_sum(r_.graph, r_.node);
    if (summed_) fused_ = plans_.forward(true, true);
    if (fused_ == nullptr) {
      summed_.reset();
      fused_ = plans_.forward(true);
    }
    if (summed_) r_.context.summed.emplace(r_.batch, *summed_);
    if (fused_ != nullptr && forward_ != nullptr &&
        r_.context.plans->prefers_unfused(*fused_, *forward_, [this](auto at) {
          add(at[ConvPlans::kY], at[ConvPlans::kBias], at[ConvPlans::kResidual]);
        }))
      drop_fused();
  }

  void drop_fused() {
    if (summed_) r_.context.summed.erase({r_.batch, *summed_});
    summed_.reset();
    fused_ = nullptr;
  }

  void plan_backward(bool wants_data) {
    weights_ = require(plans_.gradient(ConvDirection::weight_gradient), "weight gradient");
    if (wants_data) data_ = require(plans_.gradient(ConvDirection::data_gradient), "data gradient");
  }

  bool padded() const {
    return plans_.stored_input_channels() != r_.graph.shape(r_.input()).channels;
  }
  /// At the start of the scratch memory, before the workspace: a padded weight
  /// gradient, or sums that a recomputation makes for no reader.
  std::size_t staging_bytes() const {
    std::size_t bytes = 0;
    if (padded()) bytes = plans_.weight_count() * bytes_of(r_.element());
    if (summed_) bytes = std::max(bytes, 2 * std::size_t(conv_.filters) * sizeof(float));
    return aligned_bytes(bytes, kWorkspaceAlignment);
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

  /// cuDNN's engines add sums to what they find there, and are not known to
  /// clear it. The first node of all does, for all: forward makes every
  /// statistic anew.
  bool clears_sums() const {
    const auto& summed = r_.context.summed;
    const auto first = summed.lower_bound({r_.batch, NodeId{0}});
    const bool any = first != summed.end() && first->first == r_.batch;
    return r_.node == 1 && r_.mode == Mode::train && any;
  }

  /// In place of the batch norm's statistics.
  float* sums() const {
    if (!summed_) return nullptr;
    const auto& norm = std::get<BatchNormNode>(r_.graph.node(*summed_).kind);
    return r_.context.parameters.batch_statistics.data() + norm.statistics_offset;
  }

  /// `sums`: where those of the channels go; those of the squares go after them.
  Descriptor forward_tensors(void* weights, float* sums) const {
    std::vector<std::pair<CudnnGraph::Tensor, void*>> tensors = {{ConvPlans::kX, memory_.inputs[0]},
                                                                 {ConvPlans::kW, weights},
                                                                 {ConvPlans::kY, memory_.output}};
    if (fused_ != nullptr && conv_.bias != kNone)
      tensors.emplace_back(ConvPlans::kBias, r_.context.value(r_.graph, conv_.bias));
    if (fused_ != nullptr && r_.has_residual())
      tensors.emplace_back(ConvPlans::kResidual, memory_.inputs[1]);
    if (summed_) {
      tensors.emplace_back(ConvPlans::kSums, sums);
      tensors.emplace_back(ConvPlans::kSquareSums, sums + conv_.filters);
    }
    return bind_tensors(tensors, plan_workspace());
  }

  void execute(const CudnnPlan* plan, const Descriptor& tensors) {
    const auto status =
        cudnnBackendExecute(r_.context.cudnn.get(), plan->plan.get(), tensors.get());
    if (status == CUDNN_STATUS_SUCCESS) return;
    throw RunError(fmt::format("cuDNN's engine {} does not run for layer {}: {}", plan->engine,
                               r_.self().name, cudnn_words(status)));
  }

  void unpack() {
    float* arena = r_.context.parameters.gradients.data();
    if (padded()) {
      const int stored = plans_.stored_input_channels();
      drop_channels(r_.element(), r_.context.gradient(r_.graph, conv_.weight),
                    r_.context.scratch.get(), plans_.weight_count() / std::size_t(stored), stored,
                    r_.graph.shape(r_.input()).channels, r_.stream());
    } else if (r_.element() == Element::bf16) {
      r_.context.packed.gradient_computed(r_.graph, conv_.weight, arena, r_.stream());
    }
    if (is_last_) r_.context.packed.unpack_gradients(arena, r_.stream());
  }

  OperationRequest r_;
  ConvNode conv_;
  ConvPlans plans_;
  bool is_last_ = is_last_in_backward();
  std::optional<NodeId> summed_;  ///< the batch norm that finds its sums in place of statistics
  const CudnnPlan* forward_ = nullptr;
  const CudnnPlan* fused_ = nullptr;  ///< with its epilogue; takes the place of forward_
  const CudnnPlan* data_ = nullptr;
  const CudnnPlan* weights_ = nullptr;
  Descriptor forward_pack_, recompute_pack_, data_pack_, weights_pack_;
  OperationMemory memory_;
};

}  // namespace

OperationPtr make_operation(const OperationRequest& request, const ConvNode& conv) {
  return std::make_unique<Conv>(request, conv);
}

}  // namespace rueda::cuda
