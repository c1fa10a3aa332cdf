#include <span>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "cuda/operations/operations.hpp"
#include "model/gpu_fusion.hpp"

// Operations that are one kernel, or one product, each way.

namespace rueda::cuda {
namespace {

/// A matrix as cuBLAS wants it: a row-major one is its own transpose with columns for rows.
struct Matrix {
  const float* values;
  cublasOperation_t operation;
  int leading;
};

/// to (n, m) row-major, by sums of length k.
void multiply(const Context& context, const Matrix& a, const Matrix& b, float* to, int m, int n,
              int k) {
  const float one = 1.0F;
  const float zero = 0.0F;
  check(cublasSgemm(context.cublas.get(), a.operation, b.operation, m, n, k, &one, a.values,
                    a.leading, b.values, b.leading, &zero, to, m),
        "cublasSgemm");
}

/// Where the bias gradient of `conv` goes; null if it is none, or no batch norm's work.
float* bias_gradient(const OperationRequest& r, NodeId conv) {
  const auto* node = std::get_if<ConvNode>(&r.graph.node(conv).kind);
  if (node == nullptr || node->bias == kNone || !norm_sums_bias(r.graph, conv)) return nullptr;
  return r.context.gradient(r.graph, node->bias);
}

float* floats(std::byte* numbers) { return reinterpret_cast<float*>(numbers); }

/// From the first input to the output, of an element type that the input has.
PoolWork pool_work(const OperationRequest& r) {
  return {.element = element_of(r.graph.node(r.input()), r.context),
          .in = r.shape_of(r.input()),
          .out = r.shape_of(r.node)};
}

/// The second of one or two.
template <typename Pointer>
Pointer second_or_null(const std::vector<Pointer>& pointers) {
  if (pointers.size() < 2) return nullptr;
  return pointers[1];
}

/// An operation whose memory is all that it has to know when it runs.
class BoundOperation : public Operation {
 public:
  explicit BoundOperation(const OperationRequest& r) : r_(r) {}
  void bind(const OperationMemory& memory) override { memory_ = memory; }

 protected:
  bool trains() const { return r_.mode == Mode::train; }

  OperationRequest r_;
  OperationMemory memory_;
};

class Addition final : public BoundOperation {
 public:
  Addition(const OperationRequest& r, const AddNode& add) : BoundOperation(r), relu_(add.relu) {}

  OperationNeeds needs() const override {
    if (!relu_) return {.passes_gradient = 0b11};
    return {.keeps_output = true, .sums_gradients = true, .shares_input_gradient = true};
  }
  void forward() override {
    add_activations(r_.element(), memory_.output, memory_.inputs[0], memory_.inputs[1],
                    r_.outputs(), relu_, r_.stream());
  }
  void backward() override {
    if (!relu_) return;
    const auto& dy = memory_.output_gradients;
    mask_gradient(r_.element(), memory_.input_gradients[0], memory_.output, dy[0],
                  second_or_null(dy), r_.outputs(), r_.stream());
  }

 private:
  bool relu_;
};

/// Batch normalisation with ReLU, and, where fused, the residual addition
/// before it. Means and variances go to the statistics arena; inference reads
/// the running ones.
class BatchNorm final : public BoundOperation {
 public:
  BatchNorm(const OperationRequest& r, const BatchNormNode& norm)
      : BoundOperation(r), norm_(norm) {}

  OperationNeeds needs() const override {
    return {.keeps_input = true,
            .keeps_output = r_.has_residual() && norm_.relu,
            .sums_gradients = true,
            .adds_to_gradient = true};
  }
  void forward() override {
    if (trains()) make_statistics();
    recompute();
  }
  /// The statistics are still there.
  void recompute() override { norm_apply(work(), r_.stream()); }
  void backward() override {
    const auto& dy = memory_.output_gradients;
    // Of the convolution that it reads, and of the one whose output that adds.
    const NodeId conv = r_.input();
    const NodeId other = r_.graph.node(conv).inputs.back();
    NormGradient gradient{.dy = dy[0],
                          .dy_other = second_or_null(dy),
                          .addend = memory_.gradient_addend,
                          .dx = memory_.input_gradients[0],
                          .dgamma = r_.context.gradient(r_.graph, norm_.gamma),
                          .dbeta = r_.context.gradient(r_.graph, norm_.beta),
                          .input_sums = {bias_gradient(r_, conv), bias_gradient(r_, other)}};
    if (r_.has_residual()) gradient.residual_gradient = memory_.input_gradients[1];
    norm_backward(work(), gradient, r_.stream());
  }

 private:
  void make_statistics() {
    if (r_.context.summed.contains({r_.batch, r_.node}))
      norm_finish_sums(work(), r_.stream());
    else
      norm_statistics(work(), r_.stream());
  }
  std::span<float> statistics() const {
    const ParameterMemory& p = r_.context.parameters;
    if (trains()) return p.batch_statistics;
    return p.running_statistics;
  }
  NormWork work() {
    NormWork work{.element = r_.element(),
                  .rows = r_.rows_of(r_.node),
                  .channels = r_.self().output.channels,
                  .x = memory_.inputs[0],
                  .gamma = r_.context.value(r_.graph, norm_.gamma),
                  .beta = r_.context.value(r_.graph, norm_.beta),
                  .epsilon = norm_.epsilon,
                  .statistics = statistics().data() + norm_.statistics_offset,
                  .relu = norm_.relu,
                  .y = memory_.output,
                  .scratch = r_.context.sum_scratch()};
    if (r_.has_residual()) work.residual = memory_.inputs[1];
    return work;
  }

  BatchNormNode norm_;
};

class MaxPool final : public BoundOperation {
 public:
  MaxPool(const OperationRequest& r, const MaxPoolNode& pool)
      : BoundOperation(r), work_(pool_work(r)) {
    work_.kernel = pool.kernel;
    work_.stride = pool.stride;
    work_.padding = pool.padding;
    work_.zeros = pool.filled_with == PoolPadding::zeros;
  }

  OperationNeeds needs() const override {
    if (!trains()) return {};
    return {.workspace_bytes = r_.outputs()};
  }
  void forward() override {
    max_pool(work_, memory_.output, memory_.inputs[0], winners(), r_.stream());
  }
  void backward() override {
    max_pool_backward(work_, memory_.input_gradients[0], memory_.output_gradients[0], winners(),
                      r_.stream());
  }

 private:
  std::uint8_t* winners() const { return reinterpret_cast<std::uint8_t*>(memory_.workspace); }

  PoolWork work_;
};

class PadShortcut final : public BoundOperation {
 public:
  PadShortcut(const OperationRequest& r, const PadShortcutNode& pad)
      : BoundOperation(r), work_(pool_work(r)) {
    work_.stride = pad.stride;
  }

  OperationNeeds needs() const override { return {}; }
  void forward() override { pad_shortcut(work_, memory_.output, memory_.inputs[0], r_.stream()); }
  void backward() override {
    if (memory_.input_gradients[0] == nullptr) return;
    pad_shortcut_backward(work_, memory_.input_gradients[0], memory_.output_gradients[0],
                          r_.stream());
  }

 private:
  PoolWork work_;
};

class GlobalAveragePool final : public BoundOperation {
 public:
  explicit GlobalAveragePool(const OperationRequest& r) : BoundOperation(r), work_(pool_work(r)) {}

  OperationNeeds needs() const override { return {}; }
  void forward() override {
    global_average_pool(work_, floats(memory_.output), memory_.inputs[0], r_.stream());
  }
  void backward() override {
    if (memory_.input_gradients[0] == nullptr) return;
    global_average_pool_backward(work_, memory_.input_gradients[0],
                                 floats(memory_.output_gradients[0]), r_.stream());
  }

 private:
  PoolWork work_;
};

/// Fully connected layer, all fp32: y = x w^T + b with x (rows, inputs) and w (units, inputs).
class Dense final : public BoundOperation {
 public:
  Dense(const OperationRequest& r, const DenseNode& dense)
      : BoundOperation(r), dense_(dense), inputs_(int(r.graph.shape(r.input()).elements())) {}

  OperationNeeds needs() const override { return {.keeps_input = true}; }
  void forward() override {
    float* y = floats(memory_.output);
    multiply(r_.context, {weights(), CUBLAS_OP_T, inputs_},
             {floats(memory_.inputs[0]), CUBLAS_OP_N, inputs_}, y, dense_.units, r_.batch, inputs_);
    add_bias(Element::fp32, y, y, r_.context.value(r_.graph, dense_.bias), nullptr,
             std::size_t(r_.batch), dense_.units, r_.stream());
  }
  void backward() override {
    const int units = dense_.units;
    const auto* dy = floats(memory_.output_gradients[0]);
    multiply(r_.context, {floats(memory_.inputs[0]), CUBLAS_OP_N, inputs_},
             {dy, CUBLAS_OP_T, units}, r_.context.gradient(r_.graph, dense_.weight), inputs_, units,
             r_.batch);
    column_sums(Element::fp32, r_.context.gradient(r_.graph, dense_.bias), dy,
                std::size_t(r_.batch), units, r_.context.sum_scratch(), r_.stream());
    auto* dx = floats(memory_.input_gradients[0]);
    if (dx == nullptr) return;
    multiply(r_.context, {weights(), CUBLAS_OP_N, inputs_}, {dy, CUBLAS_OP_N, units}, dx, inputs_,
             r_.batch, units);
  }

 private:
  const float* weights() const { return r_.context.value(r_.graph, dense_.weight); }

  DenseNode dense_;
  int inputs_;
};

}  // namespace

void check(cublasStatus_t status, const char* call, std::source_location place) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw RunError(fmt::format("{} failed: {} [{}:{}]", call, cublasGetStatusString(status),
                             place.file_name(), place.line()));
}

Element element_of(const Node& node, const Context& context) {
  if (is_behind_pooling(node)) return Element::fp32;
  return context.element();
}

int stored_channels(const Graph& graph, NodeId node, const Context& context) {
  const int channels = graph.shape(node).channels;
  if (node != graph.input()) return channels;
  const int unit = image_channels(context.element());
  return (channels + unit - 1) / unit * unit;
}

OperationPtr make_operation(const OperationRequest& r, const AddNode& add) {
  return std::make_unique<Addition>(r, add);
}
OperationPtr make_operation(const OperationRequest& r, const BatchNormNode& norm) {
  return std::make_unique<BatchNorm>(r, norm);
}
OperationPtr make_operation(const OperationRequest& r, const MaxPoolNode& pool) {
  return std::make_unique<MaxPool>(r, pool);
}
OperationPtr make_operation(const OperationRequest& r, const PadShortcutNode& pad) {
  return std::make_unique<PadShortcut>(r, pad);
}
OperationPtr make_operation(const OperationRequest& r, const GlobalAveragePoolNode&) {
  return std::make_unique<GlobalAveragePool>(r);
}
OperationPtr make_operation(const OperationRequest& r, const DenseNode& dense) {
  return std::make_unique<Dense>(r, dense);
}

}  // namespace rueda::cuda
