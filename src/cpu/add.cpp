#include "element.hpp"
#include "operations.hpp"
#include "parallel.hpp"
#include "rueda/kernels/relu.hpp"

namespace rueda::cpu {
namespace {

using kernels::from_float;
using kernels::to_float;

/// Sum of two activations of equal layout, so plain loops over all elements, padding included.
/// Backward takes up to two gradients of the output and sums them on the way, which saves the pass
/// that a separate sum would cost at every residual fork.
template <typename T>
class Add final : public Operation {
 public:
  Add(const OperationRequest& r, const AddNode& add)
      : relu_(add.relu), elements_(r.output_desc().get_size() / sizeof(T)) {}

  OperationNeeds needs() const override {
    if (!relu_) return {.passes_gradient = 0b11};
    return {.keeps_output = true, .sums_gradients = true, .shares_input_gradient = true};
  }

  void bind(const OperationMemory& m) override { memory_ = m; }

  void forward() override {
    const T* a = elements<T>(memory_.inputs[0]);
    const T* b = elements<T>(memory_.inputs[1]);
    T* out = elements<T>(memory_.output);
    const auto sum = [=](std::size_t i) { return to_float(a[i]) + to_float(b[i]); };
    if (relu_) {
      parallel_elements(elements_,
                        [=](std::size_t i) { out[i] = from_float<T>(kernels::relu(sum(i))); });
    } else {
      parallel_elements(elements_, [=](std::size_t i) { out[i] = from_float<T>(sum(i)); });
    }
  }

  void backward() override {
    if (!relu_) return;
    const T* g = elements<T>(memory_.output_gradients[0]);
    if (memory_.output_gradients.size() == 1) {
      through_relu([=](std::size_t i) { return to_float(g[i]); });
    } else {
      const T* h = elements<T>(memory_.output_gradients[1]);
      through_relu([=](std::size_t i) { return to_float(g[i]) + to_float(h[i]); });
    }
  }

 private:
  template <typename Gradient>
  void through_relu(const Gradient& gradient) {
    T* to = elements<T>(memory_.input_gradients[0]);
    if (to == nullptr) return;
    const T* out = elements<T>(memory_.output);
    parallel_elements(elements_, [=](std::size_t i) {
      to[i] = from_float<T>(kernels::relu_gradient(to_float(out[i]), gradient(i)));
    });
  }

  bool relu_;
  std::size_t elements_;
  OperationMemory memory_;
};

}  // namespace

std::unique_ptr<Operation> make_add(const OperationRequest& request, const AddNode& add) {
  return make_typed<Add>(request, add);
}

}  // namespace rueda::cpu
