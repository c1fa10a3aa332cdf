#include <algorithm>

#include "backend/simple_operation.hpp"
#include "cpu/operations.hpp"
#include "cpu/parallel.hpp"
#include "kernels/batch_norm.hpp"

namespace rueda::cpu {
namespace {

using kernels::from_float;
using kernels::to_float;

/// Every `stride`-th pixel of the input, with zero channels around. Small own
/// loops: the channel offset need not be a multiple of the layout's block,
/// which no oneDNN view can express.
template <typename T>
std::unique_ptr<Operation> pad_shortcut(const OperationRequest& r, int stride) {
  const ActivationView from = r.input_view(), to = r.output_view();
  const Shape in = r.graph.shape(r.input()), out = r.self().output;
  const auto batch = std::size_t(r.batch), step = std::size_t(stride);
  // f(index in the input, index in the output) for every value that is copied.
  const auto for_each_copied = [=](std::size_t image, const auto& f) {
    const int shift = (out.channels - in.channels) / 2;
    for (int c = 0; c < in.channels; ++c) {
      for (int y = 0; y < out.height; ++y)
        for (int x = 0; x < out.width; ++x)
          f(from.offset(image, std::size_t(c),
                        std::size_t(y) * step * std::size_t(in.width) + std::size_t(x) * step),
            to.offset(image, std::size_t(c + shift),
                      std::size_t(y) * std::size_t(out.width) + std::size_t(x)));
    }
  };
  const auto forward = [=](const OperationMemory& m) {
    const T* source = elements<T>(m.inputs[0]);
    T* target = elements<T>(m.output);
    parallel_for(batch, [&](std::size_t image) {
      std::fill_n(target + image * to.image_elements(), to.image_elements(), T{});
      for_each_copied(image, [&](std::size_t i, std::size_t o) { target[o] = source[i]; });
    });
  };
  const auto backward = [=](const OperationMemory& m) {
    const T* source = elements<T>(m.output_gradients[0]);
    T* target = elements<T>(m.input_gradients[0]);
    if (target == nullptr) return;
    parallel_for(batch, [&](std::size_t image) {
      std::fill_n(target + image * from.image_elements(), from.image_elements(), T{});
      for_each_copied(image, [&](std::size_t i, std::size_t o) { target[i] = source[o]; });
    });
  };
  return std::make_unique<SimpleOperation>(OperationNeeds{}, forward, backward);
}

/// Mean over the pixels of every channel, into a plain (N, C) matrix of fp32.
/// Own loops, because oneDNN's fast pooling would put out the blocked layout
/// that the classifier after it cannot take.
template <typename T>
std::unique_ptr<Operation> global_average_pool(const OperationRequest& r) {
  const ActivationView view = r.input_view();
  const auto channels = std::size_t(r.self().output.channels);
  const auto batch = std::size_t(r.batch);
  const float share = 1.0F / float(view.pixels);
  const auto forward = [=](const OperationMemory& m) {
    const T* source = elements<T>(m.inputs[0]);
    float* target = elements<float>(m.output);
    parallel_for(batch * channels, [&](std::size_t i) {
      const std::size_t first = view.offset(i / channels, i % channels, 0);
      float sum = 0.0F;
      for (std::size_t p = 0; p < view.pixels; ++p) sum += to_float(source[first + p * view.block]);
      target[i] = sum * share;
    });
  };
  const auto backward = [=](const OperationMemory& m) {
    const float* source = elements<float>(m.output_gradients[0]);
    T* target = elements<T>(m.input_gradients[0]);
    if (target == nullptr) return;
    parallel_for(batch * view.channels, [&](std::size_t i) {
      const std::size_t image = i / view.channels;
      const std::size_t channel = i % view.channels;
      const bool padding = channel >= channels;
      const T value = from_float<T>(padding ? 0.0F : source[image * channels + channel] * share);
      const std::size_t first = view.offset(image, channel, 0);
      for (std::size_t p = 0; p < view.pixels; ++p) target[first + p * view.block] = value;
    });
  };
  return std::make_unique<SimpleOperation>(OperationNeeds{}, forward, backward);
}

/// Sum of two activations of equal layout, so plain loops over all elements,
/// padding included. Backward takes up to two gradients of the output and sums
/// them on the way, which saves the pass that a separate sum would cost at
/// every residual fork.
template <typename T>
std::unique_ptr<Operation> add(const OperationRequest& r, bool relu) {
  const std::size_t count = r.output_desc().get_size() / sizeof(T);
  const auto forward = [=](const OperationMemory& m) {
    const T* a = elements<T>(m.inputs[0]);
    const T* b = elements<T>(m.inputs[1]);
    T* out = elements<T>(m.output);
    const auto sum = [=](std::size_t i) { return to_float(a[i]) + to_float(b[i]); };
    if (relu)
      parallel_elements(count,
                        [=](std::size_t i) { out[i] = from_float<T>(kernels::relu(sum(i))); });
    else
      parallel_elements(count, [=](std::size_t i) { out[i] = from_float<T>(sum(i)); });
  };
  const auto backward = [=](const OperationMemory& m) {
    T* to = elements<T>(m.input_gradients[0]);
    if (!relu || to == nullptr) return;
    const T* out = elements<T>(m.output);
    const auto through_relu = [=](const auto& gradient) {
      parallel_elements(count, [=](std::size_t i) {
        to[i] = from_float<T>(kernels::relu_gradient(to_float(out[i]), gradient(i)));
      });
    };
    const T* g = elements<T>(m.output_gradients[0]);
    if (m.output_gradients.size() == 1)
      return through_relu([=](std::size_t i) { return to_float(g[i]); });
    const T* h = elements<T>(m.output_gradients[1]);
    through_relu([=](std::size_t i) { return to_float(g[i]) + to_float(h[i]); });
  };
  OperationNeeds needs{.passes_gradient = 0b11};
  if (relu) needs = {.keeps_output = true, .sums_gradients = true, .shares_input_gradient = true};
  return std::make_unique<SimpleOperation>(needs, forward, backward);
}

}  // namespace

std::unique_ptr<Operation> make(const OperationRequest& r, const PadShortcutNode& pad) {
  return with_element_type(r.output_view(),
                           [&]<typename T>() { return pad_shortcut<T>(r, pad.stride); });
}

std::unique_ptr<Operation> make(const OperationRequest& r, const GlobalAveragePoolNode&) {
  return with_element_type(r.input_view(), [&]<typename T>() { return global_average_pool<T>(r); });
}

std::unique_ptr<Operation> make(const OperationRequest& r, const AddNode& node) {
  return with_element_type(r.output_view(), [&]<typename T>() { return add<T>(r, node.relu); });
}

}  // namespace rueda::cpu
