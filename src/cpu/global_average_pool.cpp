#include "element.hpp"
#include "operations.hpp"
#include "parallel.hpp"

namespace rueda::cpu {
namespace {

/// Mean over the pixels of every channel, into a plain (N, C) matrix of fp32. Own loops, because
/// oneDNN's fast pooling would put out the blocked layout that the classifier behind it cannot
/// take.
template <typename T>
class GlobalAveragePool final : public Operation {
 public:
  explicit GlobalAveragePool(const OperationRequest& r)
      : view_(r.input_view()),
        channels_(static_cast<std::size_t>(r.self().output.channels)),
        batch_(static_cast<std::size_t>(r.batch)) {}

  OperationNeeds needs() const override { return {}; }
  void bind(const OperationMemory& m) override { memory_ = m; }

  void forward() override {
    const T* source = elements<T>(memory_.inputs[0]);
    float* target = elements<float>(memory_.output);
    const float share = 1.0F / static_cast<float>(view_.pixels);
    parallel_for(batch_ * channels_, [&](std::size_t i) {
      const std::size_t first = view_.offset(i / channels_, i % channels_, 0);
      float sum = 0.0F;
      for (std::size_t p = 0; p < view_.pixels; ++p) {
        sum += kernels::to_float(source[first + p * view_.block]);
      }
      target[i] = sum * share;
    });
  }

  void backward() override {
    const float* source = elements<float>(memory_.output_gradients[0]);
    T* target = elements<T>(memory_.input_gradients[0]);
    if (target == nullptr) return;
    const float share = 1.0F / static_cast<float>(view_.pixels);
    parallel_for(batch_ * view_.channels, [&](std::size_t i) {
      const std::size_t image = i / view_.channels;
      const std::size_t channel = i % view_.channels;
      const bool padding = channel >= channels_;
      const T value =
          kernels::from_float<T>(padding ? 0.0F : source[image * channels_ + channel] * share);
      const std::size_t first = view_.offset(image, channel, 0);
      for (std::size_t p = 0; p < view_.pixels; ++p) target[first + p * view_.block] = value;
    });
  }

 private:
  BlockedView view_;
  std::size_t channels_;
  std::size_t batch_;
  OperationMemory memory_;
};

}  // namespace

std::unique_ptr<Operation> make_global_average_pool(const OperationRequest& request) {
  return make_typed<GlobalAveragePool>(request);
}

}  // namespace rueda::cpu
