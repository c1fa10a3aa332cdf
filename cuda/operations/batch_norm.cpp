#include "operations.hpp"

namespace rueda::cuda {
namespace {

/// Batch normalisation with ReLU, and, where fused, the residual addition before it. Means and
/// variances go to the statistics arena; inference reads the running ones.
class BatchNorm final : public Operation {
 public:
  BatchNorm(const OperationRequest& r, const BatchNormNode& norm) : r_(r), norm_(norm) {
    work_.element = r.element();
    work_.rows = r.rows_of(r.node);
    work_.channels = r.self().output.channels;
    work_.epsilon = norm.epsilon;
    work_.relu = norm.relu;
    if (trains()) {
      r_.context.request_scratch(norm_partial_floats(work_.rows, work_.channels) * sizeof(float));
    }
  }

  OperationNeeds needs() const override {
    return {.keeps_input = true,
            .keeps_output = r_.has_residual() && norm_.relu,
            .sums_gradients = true,
            .adds_to_gradient = true};
  }

  void bind(const OperationMemory& m) override {
    const ParameterMemory& p = r_.context.parameters;
    work_.x = m.inputs[0];
    work_.residual = r_.has_residual() ? m.inputs[1] : nullptr;
    work_.y = m.output;
    work_.gamma = value(norm_.gamma);
    work_.beta = value(norm_.beta);
    work_.statistics = (trains() ? p.batch_statistics : p.running_statistics).data() +
                       std::ptrdiff_t(norm_.statistics_offset);
    work_.partial = r_.context.scratch_floats();
    if (m.output_gradients.empty()) return;
    gradient_.dy = m.output_gradients[0];
    gradient_.dy_other = m.output_gradients.size() > 1 ? m.output_gradients[1] : nullptr;
    gradient_.addend = m.gradient_addend;
    gradient_.dx = m.input_gradients[0];
    gradient_.residual_gradient = r_.has_residual() ? m.input_gradients[1] : nullptr;
    gradient_.dgamma = gradient(norm_.gamma);
    gradient_.dbeta = gradient(norm_.beta);
  }

  void forward() override {
    if (trains()) check(norm_statistics(work_, r_.stream()), "norm_statistics");
    check(norm_apply(work_, r_.stream()), "norm_apply");
  }
  /// The statistics are still there.
  void recompute() override { check(norm_apply(work_, r_.stream()), "norm_apply"); }
  void backward() override { check(norm_backward(work_, gradient_, r_.stream()), "norm_backward"); }

 private:
  bool trains() const { return r_.mode == Mode::train; }
  float* value(ParameterId id) const { return r_.context.value(r_.graph, id); }
  float* gradient(ParameterId id) const { return r_.context.gradient(r_.graph, id); }

  OperationRequest r_;
  BatchNormNode norm_;
  NormWork work_;
  NormGradient gradient_;
};

}  // namespace

OperationPtr make_operation(const OperationRequest& request, const BatchNormNode& norm) {
  return std::make_unique<BatchNorm>(request, norm);
}

}  // namespace rueda::cuda
