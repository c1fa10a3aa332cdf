#include "operations.hpp"
#include "parallel.hpp"
#include "rueda/kernels/relu.hpp"

namespace rueda::cpu {
namespace {

float* floats(std::byte* p) { return reinterpret_cast<float*>(p); }

/// Sum of two activations of equal layout, so plain loops over all elements, padding included.
/// Backward takes up to two gradients of the output and sums them on the way, which saves the pass
/// that a separate sum would cost at every residual fork.
class Add final : public Operation {
 public:
  Add(const OperationRequest& r, const AddNode& add)
      : relu_(add.relu), elements_(r.output_desc().get_size() / sizeof(float)) {}

  OperationNeeds needs() const override {
    return {.keeps_output = relu_, .sums_gradients = true, .shares_input_gradient = true};
  }

  void bind(const OperationMemory& m) override { memory_ = m; }

  void forward() override {
    const float* a = floats(memory_.inputs[0]);
    const float* b = floats(memory_.inputs[1]);
    float* out = floats(memory_.output);
    if (relu_) {
      parallel_elements(elements_, [=](std::size_t i) { out[i] = kernels::relu(a[i] + b[i]); });
    } else {
      parallel_elements(elements_, [=](std::size_t i) { out[i] = a[i] + b[i]; });
    }
  }

  void backward() override {
    const float* g = floats(memory_.output_gradients[0]);
    if (memory_.output_gradients.size() == 1) {
      through_relu([=](std::size_t i) { return g[i]; });
    } else {
      const float* h = floats(memory_.output_gradients[1]);
      through_relu([=](std::size_t i) { return g[i] + h[i]; });
    }
  }

 private:
  template <typename Gradient>
  void through_relu(const Gradient& gradient) {
    float* to = floats(memory_.input_gradients[0]);
    if (to == nullptr) return;
    const float* out = floats(memory_.output);
    if (relu_) {
      parallel_elements(
          elements_, [=](std::size_t i) { to[i] = kernels::relu_gradient(out[i], gradient(i)); });
    } else {
      parallel_elements(elements_, [=](std::size_t i) { to[i] = gradient(i); });
    }
  }

  bool relu_;
  std::size_t elements_;
  OperationMemory memory_;
};

}  // namespace

std::unique_ptr<Operation> make_add(const OperationRequest& request, const AddNode& add) {
  return std::make_unique<Add>(request, add);
}

}  // namespace rueda::cpu
