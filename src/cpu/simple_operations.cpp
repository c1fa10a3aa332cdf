#include <algorithm>

#include "operations.hpp"
#include "parallel.hpp"
#include "rueda/kernels/batch_norm.hpp"

namespace rueda::cpu {
namespace {

/// Every `stride`-th pixel of the input, with zero channels around. Small own loops: the channel
/// offset need not be a multiple of the layout's block, which no oneDNN view can express.
template <typename T>
class PadShortcut final : public Operation {
 public:
  PadShortcut(const OperationRequest& r, const PadShortcutNode& pad)
      : from_(r.input_view()),
        to_(r.output_view()),
        in_(r.graph.shape(r.input())),
        out_(r.self().output),
        stride_(pad.stride),
        batch_(std::size_t(r.batch)) {}

  OperationNeeds needs() const override { return {}; }
  void bind(const OperationMemory& m) override { memory_ = m; }

  void forward() override {
    const T* source = elements<T>(memory_.inputs[0]);
    T* target = elements<T>(memory_.output);
    parallel_for(batch_, [&](std::size_t image) {
      std::fill_n(target + image * to_.image_elements(), to_.image_elements(), T{});
      for_each_copied(image, [&](std::size_t from, std::size_t to) { target[to] = source[from]; });
    });
  }

  void backward() override {
    const T* source = elements<T>(memory_.output_gradients[0]);
    T* target = elements<T>(memory_.input_gradients[0]);
    if (target == nullptr) return;
    parallel_for(batch_, [&](std::size_t image) {
      std::fill_n(target + image * from_.image_elements(), from_.image_elements(), T{});
      for_each_copied(image, [&](std::size_t from, std::size_t to) { target[from] = source[to]; });
    });
  }

 private:
  /// f(index in the input, index in the output) for every value that is copied.
  template <typename F>
  void for_each_copied(std::size_t image, const F& f) const {
    const int shift = (out_.channels - in_.channels) / 2;
    for (int c = 0; c < in_.channels; ++c) {
      for (int y = 0; y < out_.height; ++y) {
        for (int x = 0; x < out_.width; ++x) {
          f(from_.offset(image, std::size_t(c), std::size_t(y * stride_ * in_.width + x * stride_)),
            to_.offset(image, std::size_t(c + shift), std::size_t(y * out_.width + x)));
        }
      }
    }
  }

  BlockedView from_, to_;
  Shape in_, out_;
  int stride_;
  std::size_t batch_;
  OperationMemory memory_;
};

/// Mean over the pixels of every channel, into a plain (N, C) matrix of fp32. Own loops, because
/// oneDNN's fast pooling would put out the blocked layout that the classifier behind it cannot
/// take.
template <typename T>
class GlobalAveragePool final : public Operation {
 public:
  explicit GlobalAveragePool(const OperationRequest& r)
      : view_(r.input_view()),
        channels_(std::size_t(r.self().output.channels)),
        batch_(std::size_t(r.batch)) {}

  OperationNeeds needs() const override { return {}; }
  void bind(const OperationMemory& m) override { memory_ = m; }

  void forward() override {
    const T* source = elements<T>(memory_.inputs[0]);
    float* target = elements<float>(memory_.output);
    const float share = 1.0F / float(view_.pixels);
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
    const float share = 1.0F / float(view_.pixels);
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

std::unique_ptr<Operation> make(const OperationRequest& request, const PadShortcutNode& pad) {
  return make_typed<PadShortcut>(request, pad);
}

std::unique_ptr<Operation> make(const OperationRequest& request, const GlobalAveragePoolNode&) {
  return make_typed<GlobalAveragePool>(request);
}

std::unique_ptr<Operation> make(const OperationRequest& request, const AddNode& add) {
  return make_typed<Add>(request, add);
}

}  // namespace rueda::cpu
