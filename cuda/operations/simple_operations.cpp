#include <span>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "cuda/operations/operations.hpp"
#include "model/gpu_fusion.hpp"

// Operations of own kernels and of cuBLAS.

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

/// From the first input to the output, of an element type that the input has.
PoolWork pool_work(const OperationRequest& r) {
  return {.element = element_of(r.graph.node(r.input()), r.context),
          .in = r.shape_of(r.input()),
          .out = r.shape_of(r.node)};
}

class Addition final : public PlannedOperation {
 public:
  Addition(const OperationRequest& r, const AddNode& add) : PlannedOperation(r), relu_(add.relu) {}

 private:
  void launch(const Launch& l) override {
    if (l.kind == LaunchKind::add_activations)
      add_activations(r_.element(), at(l, Tensor::output), at(l, Tensor::input),
                      at(l, Tensor::residual), r_.outputs(), relu_, r_.stream());
    else
      mask_gradient(r_.element(), at(l, Tensor::input_gradient), at(l, Tensor::output),
                    at(l, Tensor::output_gradient), at(l, Tensor::other_gradient), r_.outputs(),
                    r_.stream());
  }
  void* place_of(Tensor) const override { return nullptr; }

  bool relu_;
};

/// Batch normalisation with ReLU, and, where fused, the residual addition
/// before it. Means and variances go to the statistics arena; inference reads
/// the running ones.
class BatchNorm final : public PlannedOperation {
 public:
  BatchNorm(const OperationRequest& r, const BatchNormNode& norm)
      : PlannedOperation(r), norm_(norm) {}

 private:
  Epilogue epilogue() const override {
    if (r_.context.summed.contains({r_.batch, r_.node})) return Epilogue::sums;
    return Epilogue::none;
  }
  void launch(const Launch& l) override {
    switch (l.kind) {
      case LaunchKind::norm_statistics:
        return norm_statistics(work(l), r_.stream());
      case LaunchKind::norm_finish_sums:
        return norm_finish_sums(work(l), r_.stream());
      case LaunchKind::norm_apply:
        return norm_apply(work(l), r_.stream());
      case LaunchKind::norm_gradient_sums:
        return norm_gradient_sums(work(l), gradient(l), r_.stream());
      default:
        return norm_input_gradient(work(l), gradient(l), r_.stream());
    }
  }
  NormWork work(const Launch& l) const {
    return {.element = r_.element(),
            .rows = r_.rows_of(r_.node),
            .channels = r_.self().output.channels,
            .x = at(l, Tensor::input),
            .gamma = floats(l, Tensor::gamma),
            .beta = floats(l, Tensor::beta),
            .epsilon = norm_.epsilon,
            .statistics = floats(l, Tensor::statistics),
            .relu = norm_.relu,
            .residual = at(l, Tensor::residual),
            .y = at(l, Tensor::output),
            .scratch = r_.context.sum_scratch()};
  }
  NormGradient gradient(const Launch& l) const {
    return {.dy = at(l, Tensor::output_gradient),
            .dy_other = at(l, Tensor::other_gradient),
            .addend = at(l, Tensor::addend),
            .dx = at(l, Tensor::input_gradient),
            .residual_gradient = at(l, Tensor::residual_gradient),
            .dgamma = floats(l, Tensor::gamma_gradient),
            .dbeta = floats(l, Tensor::beta_gradient),
            .input_sums = {floats(l, Tensor::summed_bias_gradient),
                           floats(l, Tensor::passed_bias_gradient)}};
  }

  void* place_of(Tensor tensor) const override {
    const NodeId conv = r_.input();
    switch (tensor) {
      case Tensor::gamma:
        return r_.context.value(r_.graph, norm_.gamma);
      case Tensor::beta:
        return r_.context.value(r_.graph, norm_.beta);
      case Tensor::gamma_gradient:
        return r_.context.gradient(r_.graph, norm_.gamma);
      case Tensor::beta_gradient:
        return r_.context.gradient(r_.graph, norm_.beta);
      case Tensor::summed_bias_gradient:
        return r_.context.gradient(r_.graph, summed_bias(r_.graph, conv));
      case Tensor::passed_bias_gradient:
        return r_.context.gradient(r_.graph,
                                   summed_bias(r_.graph, r_.graph.node(conv).inputs.back()));
      default:
        return statistics().data() + norm_.statistics_offset;
    }
  }
  std::span<float> statistics() const {
    const ParameterMemory& p = r_.context.parameters;
    return r_.mode == Mode::train ? p.batch_statistics : p.running_statistics;
  }

  BatchNormNode norm_;
};

/// What reads windows of an image, or all of it: one kernel each way.
class Pooling final : public PlannedOperation {
 public:
  explicit Pooling(const OperationRequest& r) : PlannedOperation(r), work_(pool_work(r)) {}
  Pooling(const OperationRequest& r, const MaxPoolNode& pool) : Pooling(r) {
    work_.kernel = pool.kernel;
    work_.stride = pool.stride;
    work_.padding = pool.padding;
    work_.zeros = pool.filled_with == PoolPadding::zeros;
  }
  Pooling(const OperationRequest& r, const PadShortcutNode& pad) : Pooling(r) {
    work_.stride = pad.stride;
  }

 private:
  void launch(const Launch& l) override {
    void* y = at(l, Tensor::output);
    void* dx = at(l, Tensor::input_gradient);
    const void* x = at(l, Tensor::input);
    const void* dy = at(l, Tensor::output_gradient);
    auto* winners = static_cast<std::uint8_t*>(at(l, Tensor::winners));
    switch (l.kind) {
      case LaunchKind::max_pool:
        return max_pool(work_, y, x, winners, r_.stream());
      case LaunchKind::max_pool_backward:
        return max_pool_backward(work_, dx, dy, winners, r_.stream());
      case LaunchKind::pad_shortcut:
        return pad_shortcut(work_, y, x, r_.stream());
      case LaunchKind::pad_shortcut_backward:
        return pad_shortcut_backward(work_, dx, dy, r_.stream());
      case LaunchKind::average_pool:
        return global_average_pool(work_, static_cast<float*>(y), x, r_.stream());
      default:
        return global_average_pool_backward(work_, dx, static_cast<const float*>(dy), r_.stream());
    }
  }
  void* place_of(Tensor) const override { return nullptr; }

  PoolWork work_;
};

/// Fully connected layer, all fp32: y = x w^T + b with x (rows, inputs) and w (units, inputs). For
/// ten units cuBLAS's forward pass took three launches, with the bias, and 20 us.
class Dense final : public PlannedOperation {
 public:
  Dense(const OperationRequest& r, const DenseNode& dense)
      : PlannedOperation(r), dense_(dense), inputs_(int(r.graph.shape(r.input()).elements())) {}

 private:
  void launch(const Launch& l) override {
    const int units = dense_.units;
    const Matrix x{floats(l, Tensor::input), CUBLAS_OP_N, inputs_};
    const float* w = floats(l, Tensor::weights);
    const float* dy = floats(l, Tensor::output_gradient);
    switch (l.kind) {
      case LaunchKind::dense_forward:
        return cuda::dense_forward(floats(l, Tensor::output), x.values, w, floats(l, Tensor::bias),
                                   std::size_t(r_.batch), inputs_, units, r_.stream());
      case LaunchKind::dense_weights:
        return multiply(r_.context, x, {dy, CUBLAS_OP_T, units}, floats(l, Tensor::weight_gradient),
                        inputs_, units, r_.batch);
      case LaunchKind::column_sums:
        return column_sums(Element::fp32, floats(l, Tensor::bias_gradient), dy,
                           std::size_t(r_.batch), units, r_.context.sum_scratch(), r_.stream());
      default:
        return multiply(r_.context, {w, CUBLAS_OP_N, inputs_}, {dy, CUBLAS_OP_N, units},
                        floats(l, Tensor::input_gradient), inputs_, r_.batch, units);
    }
  }
  void* place_of(Tensor tensor) const override {
    switch (tensor) {
      case Tensor::weights:
        return r_.context.value(r_.graph, dense_.weight);
      case Tensor::bias:
        return r_.context.value(r_.graph, dense_.bias);
      case Tensor::weight_gradient:
        return r_.context.gradient(r_.graph, dense_.weight);
      default:
        return r_.context.gradient(r_.graph, dense_.bias);
    }
  }

  DenseNode dense_;
  int inputs_;
};

}  // namespace

void check(cublasStatus_t status, const char* call, std::source_location place) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw RunError(fmt::format("{} failed: {} [{}:{}]", call, cublasGetStatusString(status),
                             place.file_name(), place.line()));
}

OperationPtr make_operation(const OperationRequest& r, const AddNode& add) {
  return std::make_unique<Addition>(r, add);
}
OperationPtr make_operation(const OperationRequest& r, const BatchNormNode& norm) {
  return std::make_unique<BatchNorm>(r, norm);
}
OperationPtr make_operation(const OperationRequest& r, const MaxPoolNode& pool) {
  return std::make_unique<Pooling>(r, pool);
}
OperationPtr make_operation(const OperationRequest& r, const PadShortcutNode& pad) {
  return std::make_unique<Pooling>(r, pad);
}
OperationPtr make_operation(const OperationRequest& r, const GlobalAveragePoolNode&) {
  return std::make_unique<Pooling>(r);
}
OperationPtr make_operation(const OperationRequest& r, const DenseNode& dense) {
  return std::make_unique<Dense>(r, dense);
}

}  // namespace rueda::cuda
