#include "operations.hpp"

namespace rueda::cuda {
namespace {

/// A matrix as cuBLAS wants it: a row-major one is its own transpose with columns for rows.
struct Matrix {
  const float* values;
  cublasOperation_t operation;
  int leading;
};

/// Fully connected layer, all fp32: y = x w^T + b with x (rows, inputs) and w (units, inputs).
class Dense final : public Operation {
 public:
  Dense(const OperationRequest& r, const DenseNode& dense)
      : context_(r.context),
        graph_(r.graph),
        dense_(dense),
        rows_(r.batch),
        inputs_(static_cast<int>(r.graph.shape(r.input()).elements())) {
    const std::size_t floats = norm_partial_floats(static_cast<std::size_t>(rows_), dense.units);
    context_.request_scratch(floats * sizeof(float));
  }

  OperationNeeds needs() const override { return {.keeps_input = true}; }
  void bind(const OperationMemory& m) override { memory_ = m; }

  void forward() override {
    auto* y = reinterpret_cast<float*>(memory_.output);
    multiply({weights(), CUBLAS_OP_T, inputs_}, {x(), CUBLAS_OP_N, inputs_}, y, dense_.units, rows_,
             inputs_);
    if (dense_.bias == kNone) return;
    check(add_bias(Element::fp32, y, y, context_.value(graph_, dense_.bias), nullptr,
                   static_cast<std::size_t>(rows_), dense_.units, context_.stream.get()),
          "add_bias");
  }

  void backward() override {
    const auto* dy = reinterpret_cast<const float*>(memory_.output_gradients[0]);
    const int units = dense_.units;
    multiply({x(), CUBLAS_OP_N, inputs_}, {dy, CUBLAS_OP_T, units},
             context_.gradient(graph_, dense_.weight), inputs_, units, rows_);
    if (dense_.bias != kNone) {
      check(column_sums(Element::fp32, context_.gradient(graph_, dense_.bias), dy,
                        static_cast<std::size_t>(rows_), units, context_.scratch_floats(),
                        context_.stream.get()),
            "column_sums");
    }
    auto* dx = reinterpret_cast<float*>(memory_.input_gradients[0]);
    if (dx == nullptr) return;
    multiply({weights(), CUBLAS_OP_N, inputs_}, {dy, CUBLAS_OP_N, units}, dx, inputs_, rows_,
             units);
  }

 private:
  const float* x() const { return reinterpret_cast<const float*>(memory_.inputs[0]); }
  const float* weights() const { return context_.value(graph_, dense_.weight); }

  /// to (n, m) row-major, by sums of length k.
  void multiply(const Matrix& a, const Matrix& b, float* to, int m, int n, int k) {
    const float one = 1.0F;
    const float zero = 0.0F;
    check(cublasSgemm(context_.cublas.get(), a.operation, b.operation, m, n, k, &one, a.values,
                      a.leading, b.values, b.leading, &zero, to, m),
          "cublasSgemm");
  }

  Context& context_;
  const Graph& graph_;
  DenseNode dense_;
  int rows_;
  int inputs_;
  OperationMemory memory_;
};

}  // namespace

std::unique_ptr<Operation> make_dense(const OperationRequest& request, const DenseNode& dense) {
  return std::make_unique<Dense>(request, dense);
}

}  // namespace rueda::cuda
