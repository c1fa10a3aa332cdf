#include "operations.hpp"

namespace rueda::cuda {
namespace {

/// Batch normalisation with ReLU, and, where fused, the residual addition before it. Means and
/// variances go to the statistics arena; inference reads the running ones.
class BatchNorm final : public Operation {
 public:
  BatchNorm(const OperationRequest& r, const BatchNormNode& norm)
      : context_(r.context),
        graph_(r.graph),
        norm_(norm),
        train_(r.mode == Mode::train),
        residual_(r.has_residual()) {
    work_.element = r.element();
    work_.rows = r.rows_of(r.node);
    work_.channels = r.self().output.channels;
    work_.epsilon = norm.epsilon;
    work_.relu = norm.relu;
    if (train_) {
      context_.request_scratch(norm_partial_floats(work_.rows, work_.channels) * sizeof(float));
    }
  }

  OperationNeeds needs() const override {
    return {.keeps_input = true,
            .keeps_output = residual_ && norm_.relu,
            .sums_gradients = true,
            .adds_to_gradient = true};
  }

  void bind(const OperationMemory& m) override {
    const ParameterMemory& p = context_.parameters;
    work_.x = m.inputs[0];
    work_.residual = residual_ ? m.inputs[1] : nullptr;
    work_.y = m.output;
    work_.gamma = context_.value(graph_, norm_.gamma);
    work_.beta = context_.value(graph_, norm_.beta);
    work_.statistics = (train_ ? p.batch_statistics : p.running_statistics).data() +
                       static_cast<std::ptrdiff_t>(norm_.statistics_offset);
    work_.partial = context_.scratch_floats();
    if (m.output_gradients.empty()) return;
    gradient_.dy = m.output_gradients[0];
    gradient_.dy_other = m.output_gradients.size() > 1 ? m.output_gradients[1] : nullptr;
    gradient_.addend = m.gradient_addend;
    gradient_.dx = m.input_gradients[0];
    gradient_.residual_gradient = residual_ ? m.input_gradients[1] : nullptr;
    gradient_.dgamma = context_.gradient(graph_, norm_.gamma);
    gradient_.dbeta = context_.gradient(graph_, norm_.beta);
  }

  void forward() override {
    if (train_) check(norm_statistics(work_, context_.stream.get()), "norm_statistics");
    check(norm_apply(work_, context_.stream.get()), "norm_apply");
  }
  /// The statistics are still there.
  void recompute() override { check(norm_apply(work_, context_.stream.get()), "norm_apply"); }
  void backward() override {
    check(norm_backward(work_, gradient_, context_.stream.get()), "norm_backward");
  }

 private:
  Context& context_;
  const Graph& graph_;
  BatchNormNode norm_;
  bool train_;
  bool residual_;
  NormWork work_;
  NormGradient gradient_;
};

}  // namespace

std::unique_ptr<Operation> make_batch_norm(const OperationRequest& request,
                                           const BatchNormNode& norm) {
  return std::make_unique<BatchNorm>(request, norm);
}

}  // namespace rueda::cuda
