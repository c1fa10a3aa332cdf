#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backend/memory_plan.hpp"
#include "base/error.hpp"
#include "cuda/cudnn/conv_plans.hpp"
#include "model/gpu_fusion.hpp"

namespace rueda::cuda {
namespace {

/// cuDNN says nothing of a workspace's alignment; cudaMalloc's own is safe.
constexpr std::size_t kWorkspaceAlignment = 256;

const char* words_of_product(LaunchKind kind) {
  if (kind == LaunchKind::conv_data) return "data gradient";
  if (kind == LaunchKind::conv_weights) return "weight gradient";
  return "forward pass";
}

/// Convolution in its three directions by cuDNN, bias and residual addition in
/// the forward epilogue where an engine has that, and there the sums for the
/// batch norm that reads the output. The weight gradient is computed on the
/// second stream, beside what follows in backward, with scratch memory of its
/// own. Windows of the image (windows_of) are kept until then, and the gradient
/// of their weights is staged there. Any other weight gradient goes to the arena
/// at once where it is fp32; in bf16 PackedWeights has it.
class Conv final : public PlannedOperation {
 public:
  Conv(const OperationRequest& r, const ConvNode& conv)
      : PlannedOperation(r), conv_(conv), plans_(r, conv) {
    r.context.packed.request(r.graph, conv.weight, r.element(), plans_.windows());
    plan_forward(r.full);
    if (r.mode != Mode::train) return;
    for (const Launch& l : launches_.backward({.wants_input = r.input() != r.graph.input()}))
      if (l.is_convolution()) plan(l) = require(plans_.find(l), l);
  }

  void bind(const OperationMemory& memory) override {
    PlannedOperation::bind(memory);
    const Launch& fused = convolution_of(forward_);
    if (epilogue_ != Epilogue::none && !runs(fused)) {
      drop_epilogue();
      require(plan(fused), fused);
      PlannedOperation::bind(memory);
    }
    for (const auto* launches : {&forward_, &backward_})
      for (const Launch& l : *launches)
        if (l.is_convolution()) bind_product(l);
    if (summed_)
      again_ = tensors_of(convolution_of(recompute_),
                          static_cast<float*>(r_.context.main.scratch.get()));
  }

  void forward() override {
    if (clears_sums()) {
      const auto all = std::as_writable_bytes(r_.context.parameters.batch_statistics);
      check(cudaMemsetAsync(all.data(), 0, all.size(), r_.stream()), "cudaMemsetAsync");
    }
    PlannedOperation::forward();
  }
  /// The batch norm has made its statistics of the sums by now: new ones are for no reader.
  void recompute() override {
    if (!summed_) return PlannedOperation::recompute();
    execute(convolution_of(recompute_), again_);
  }
  void backward() override {
    r_.context.fork();
    PlannedOperation::backward();
  }
  void finish_backward() override { r_.context.join(); }

 private:
  struct Product {
    const CudnnPlan* plan = nullptr;
    Descriptor tensors;
  };

  Epilogue epilogue() const override { return epilogue_; }

  void launch(const Launch& l) override {
    Context& context = r_.context;
    switch (l.kind) {
      case LaunchKind::add_bias:
        return add(at(l, Tensor::output), at(l, Tensor::bias), at(l, Tensor::residual));
      case LaunchKind::unroll_rows:
        return unroll_rows(r_.element(), at(l, Tensor::windows), at(l, Tensor::input), image_rows(),
                           *plans_.windows(), r_.stream());
      case LaunchKind::drop_channels: {
        const kernels::RowWindows& w = *plans_.windows();
        return drop_channels(
            r_.element(), floats(l, Tensor::arena_gradient), at(l, Tensor::weight_gradient),
            plans_.weight_count() / std::size_t(w.stored), w.stored, w.values, stream_of(l));
      }
      case LaunchKind::column_sums:
        return column_sums(r_.element(), floats(l, Tensor::bias_gradient),
                           at(l, Tensor::output_gradient), r_.rows_of(r_.node), conv_.filters,
                           context.sum_scratch(), r_.stream());
      default:
        execute(l, products_.at(l.kind).tensors);
    }
    if (l.kind == LaunchKind::conv_weights && r_.element() == Element::bf16 && !plans_.windows())
      context.packed.gradient_computed(r_.graph, conv_.weight);
  }

  void* place_of(Tensor tensor) const override {
    const Context& context = r_.context;
    switch (tensor) {
      case Tensor::weights:
        return const_cast<void*>(context.packed.at(r_.graph, conv_.weight));
      case Tensor::bias:
        return context.value(r_.graph, conv_.bias);
      case Tensor::weight_gradient:
        return gradient_target();
      case Tensor::bias_gradient:
        return context.gradient(r_.graph, conv_.bias);
      default:
        return context.gradient(r_.graph, conv_.weight);
    }
  }

  Lane& lane_of(const Launch& l) const {
    return l.goes_beside() ? r_.context.beside : r_.context.main;
  }
  cudaStream_t stream_of(const Launch& l) const { return lane_of(l).stream.get(); }

  const CudnnPlan*& plan(const Launch& l) { return products_[l.kind].plan; }

  const CudnnPlan* require(const CudnnPlan* plan, const Launch& l) {
    if (plan == nullptr) refuse(words_of_product(l.kind));
    lane_of(l).request_scratch(plan->workspace_bytes, staging_bytes(l));
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

  bool runs(const Launch& l) {
    return r_.context.plans->runs(*plan(l), tensors_of(l, sums()), lane_of(l).workspace_room());
  }
  void bind_product(const Launch& l) {
    if (!runs(l)) refuse(words_of_product(l.kind));
    products_.at(l.kind).tensors = tensors_of(l, sums());
  }

  bool adds() const { return has_addition(r_.self()); }
  /// What the epilogue does, but for sums.
  void add(void* y, const void* bias, const void* residual) const {
    add_bias(r_.element(), y, y, static_cast<const float*>(bias), residual, r_.rows_of(r_.node),
             conv_.filters, r_.stream());
  }

  /// The same to tensors that are timed, of which there need not be all.
  void add_to(const std::map<CudnnGraph::Tensor, void*>& at) const {
    const auto place = [&](CudnnGraph::Tensor id) { return at.contains(id) ? at.at(id) : nullptr; };
    add(at.at(ConvPlans::kY), place(ConvPlans::kBias), place(ConvPlans::kResidual));
  }

  /// Engines with an epilogue are compiled when they are planned, most of a
  /// second each. The plan without is there in case that they do not run.
  void plan_forward(bool fuse) {
    const Launch product = convolution_of(launches_.forward(Epilogue::none));
    unfused_ = plans_.find(product);
    plan(product) = unfused_;
    const bool sums_decided = plans_.decided(convolution_of(launches_.forward(Epilogue::sums)));
    if (fuse && (adds() || sums_decided)) plan_epilogue(product);
    if (epilogue_ != Epilogue::none) require(plan(product), product);
    if (unfused_ != nullptr || epilogue_ == Epilogue::none) require(unfused_, product);
  }

  void plan_epilogue(const Launch& product) {
    const CudnnPlan* fused = plan_sums();
    if (fused == nullptr) {
      summed_.reset();
      if (adds()) fused = plan_addition();
    }
    if (fused == nullptr) return;
    if (summed_) r_.context.summed.emplace(r_.batch, *summed_);
    epilogue_ = summed_ ? Epilogue::sums : Epilogue::adds;
    plan(product) = fused;
  }
  /// Null where our own kernel was faster, too.
  const CudnnPlan* plan_addition() {
    const CudnnPlan* adds = plans_.find(convolution_of(launches_.forward(Epilogue::adds)));
    if (adds == nullptr || unfused_ == nullptr) return adds;
    const bool prefers =
        r_.context.plans->prefers_unfused(*adds, *unfused_, [this](const auto& at) { add_to(at); });
    return prefers ? nullptr : adds;
  }
  /// Engines that take sums add by atomics, in any order, though cuDNN does not
  /// note it. Null as well where a pass of our own over the output was faster.
  /// What is compared is compiled first, so that a run that is killed meanwhile
  /// has not chosen yet.
  const CudnnPlan* plan_sums() {
    PlanStore& plans = *r_.context.plans;
    if (!r_.context.deterministic) summed_ = norm_to_sum(r_.graph, r_.node);
    if (!summed_) return nullptr;
    const CudnnPlan* added = adds() && plans.tunes() ? plan_addition() : nullptr;
    const CudnnPlan* other = added != nullptr ? added : unfused_;
    const CudnnPlan* sums = plans_.find(convolution_of(launches_.forward(Epilogue::sums)));
    if (sums == nullptr || other == nullptr || !plans.timed(*sums)) return sums;
    const DeviceMemory memory = make_device_memory(2 * std::size_t(conv_.filters) * sizeof(float));
    NormWork norm{.element = r_.element(),
                  .rows = r_.rows_of(r_.node),
                  .channels = conv_.filters,
                  .statistics = static_cast<float*>(memory.get()),
                  .scratch = r_.context.sum_scratch()};
    const auto apart = [&](const auto& at) {
      if (adds() && added == nullptr) add_to(at);
      norm.x = at.at(ConvPlans::kY);
      norm_statistics(norm, r_.stream());
    };
    const auto rest = [&](const auto&) { norm_finish_sums(norm, r_.stream()); };
    return plans.prefers_unfused(*sums, *other, apart, rest) ? nullptr : sums;
  }

  void drop_epilogue() {
    if (summed_) r_.context.summed.erase({r_.batch, *summed_});
    summed_.reset();
    epilogue_ = Epilogue::none;
    products_[LaunchKind::conv_forward].plan = unfused_;
  }

  std::size_t image_rows() const {
    const ImageShape image = r_.shape_of(r_.input());
    return std::size_t(image.images) * std::size_t(image.height);
  }
  /// At the start of a lane's scratch memory, before the workspace: the gradient of
  /// weights for windows, or sums that a recomputation makes for no reader.
  std::size_t staging_bytes(const Launch& l) const {
    std::size_t bytes = 0;
    if (l.goes_beside() && plans_.windows()) bytes = plans_.weight_count() * bytes_of(r_.element());
    if (!l.goes_beside() && summed_) bytes = 2 * std::size_t(conv_.filters) * sizeof(float);
    return aligned_bytes(bytes, kWorkspaceAlignment);
  }
  void* plan_workspace(const Launch& l) const {
    return static_cast<std::byte*>(lane_of(l).scratch.get()) + staging_bytes(l);
  }
  void* gradient_target() const {
    if (plans_.windows()) return r_.context.beside.scratch.get();
    if (r_.element() == Element::fp32) return r_.context.gradient(r_.graph, conv_.weight);
    return r_.context.packed.gradient_at(r_.graph, conv_.weight);
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
  Descriptor tensors_of(const Launch& l, float* sums) const {
    std::vector<std::pair<CudnnGraph::Tensor, void*>> tensors;
    for (const auto* list : {&l.reads, &l.writes}) {
      for (const auto& [tensor, bytes] : *list) {
        void* place = at(l, tensor);
        if (tensor == Tensor::sums) place = sums;
        if (tensor == Tensor::square_sums) place = sums + conv_.filters;
        tensors.emplace_back(ConvPlans::id_of(tensor), place);
      }
    }
    return bind_tensors(tensors, plan_workspace(l));
  }

  void execute(const Launch& l, const Descriptor& tensors) {
    const CudnnPlan& plan = *products_.at(l.kind).plan;
    cudnnHandle_t cudnn = r_.context.cudnn.get();
    check(cudnnSetStream(cudnn, stream_of(l)), "cudnnSetStream");
    const auto status = cudnnBackendExecute(cudnn, plan.plan.get(), tensors.get());
    check(cudnnSetStream(cudnn, r_.stream()), "cudnnSetStream");
    if (status == CUDNN_STATUS_SUCCESS) return;
    throw RunError(fmt::format("cuDNN's engine {} does not run for layer {}: {}", plan.engine,
                               r_.self().name, cudnn_words(status)));
  }

  ConvNode conv_;
  ConvPlans plans_;
  std::optional<NodeId> summed_;  ///< the batch norm that finds its sums in place of statistics
  Epilogue epilogue_ = Epilogue::none;
  const CudnnPlan* unfused_ = nullptr;  ///< takes the place of one with an epilogue
  std::map<LaunchKind, Product> products_;
  Descriptor again_;  ///< tensors of a recomputation whose sums have no reader
};

}  // namespace

OperationPtr make_operation(const OperationRequest& request, const ConvNode& conv) {
  return std::make_unique<Conv>(request, conv);
}

}  // namespace rueda::cuda
