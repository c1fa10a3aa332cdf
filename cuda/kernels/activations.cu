#include "launch.cuh"
#include "rueda/kernels/batch_norm.hpp"

namespace rueda::cuda {
namespace {

template <typename T>
struct AddActivations {
  T* to;
  const T* a;
  const T* b;
  bool relu;

  template <int width>
  __device__ void run(std::size_t i) const {
    float x[width], y[width];
    load(a + i, x);
    load(b + i, y);
#pragma unroll
    for (int k = 0; k < width; ++k) {
      x[k] = x[k] + y[k];
      if (relu) x[k] = kernels::relu(x[k]);
    }
    store(to + i, x);
  }
};

template <typename T>
struct MaskGradient {
  T* to;
  const T* output;
  const T* gradient;
  const T* other;

  template <int width>
  __device__ void run(std::size_t i) const {
    float out[width], g[width], h[width] = {};
    load(output + i, out);
    load(gradient + i, g);
    if (other != nullptr) load(other + i, h);
#pragma unroll
    for (int k = 0; k < width; ++k)
      g[k] = kernels::relu_gradient(out[k], other != nullptr ? g[k] + h[k] : g[k]);
    store(to + i, g);
  }
};

/// Stands in for a fusion that cuDNN does not offer, or where it would not pay:
/// in evaluation and partial batches. A pack lies within one pixel.
template <typename T>
struct AddBias {
  T* y;
  const T* x;
  const float* bias;
  const T* residual;
  std::size_t channels;

  template <int width>
  __device__ void run(std::size_t i) const {
    float v[width];
    load(x + i, v);
    const std::size_t channel = i % channels;
#pragma unroll
    for (int k = 0; k < width; ++k) {
      if (bias != nullptr) v[k] = v[k] + bias[channel + std::size_t(k)];
      if (residual != nullptr) v[k] = v[k] + kernels::to_float(residual[i + std::size_t(k)]);
    }
    store(y + i, v);
  }
};

// What has to look at the channel of each element: one thread an element,
// because these touch weights, images and test data.

template <typename T>
struct PadChannels {
  T* to;
  const float* from;
  std::size_t channels;
  std::size_t to_channels;

  __device__ void operator()(std::size_t i) const {
    const std::size_t row = i / to_channels;
    const std::size_t c = i % to_channels;
    to[i] = kernels::from_float<T>(c < channels ? from[row * channels + c] : 0.0F);
  }
};

template <typename T>
struct DropChannels {
  float* to;
  const T* from;
  std::size_t from_channels;
  std::size_t channels;

  __device__ void operator()(std::size_t i) const {
    to[i] = kernels::to_float(from[i / channels * from_channels + i % channels]);
  }
};

}  // namespace

cudaError_t add_activations(Element element, void* to, const void* a, const void* b,
                            std::size_t count, bool relu, cudaStream_t stream) {
  return with_type(element, [&]<typename T>() {
    const AddActivations<T> body{static_cast<T*>(to), static_cast<const T*>(a),
                                 static_cast<const T*>(b), relu};
    return for_each_pack<T>(count, aligned_for_packs(to, a, b), body, stream);
  });
}

cudaError_t accumulate(float* into, const float* from, std::size_t count, cudaStream_t stream) {
  return add_activations(Element::fp32, into, into, from, count, false, stream);
}

cudaError_t mask_gradient(Element element, void* to, const void* output, const void* gradient,
                          const void* other, std::size_t count, cudaStream_t stream) {
  return with_type(element, [&]<typename T>() {
    const MaskGradient<T> body{static_cast<T*>(to), static_cast<const T*>(output),
                               static_cast<const T*>(gradient), static_cast<const T*>(other)};
    return for_each_pack<T>(count, aligned_for_packs(to, output, gradient, other), body, stream);
  });
}

cudaError_t add_bias(Element element, void* y, const void* x, const float* bias,
                     const void* residual, std::size_t rows, int channels, cudaStream_t stream) {
  const auto c = std::size_t(channels);
  return with_type(element, [&]<typename T>() {
    const AddBias<T> body{static_cast<T*>(y), static_cast<const T*>(x), bias,
                          static_cast<const T*>(residual), c};
    return for_each_pack<T>(rows * c, packs_channels<T>(channels, y, x, residual), body, stream);
  });
}

cudaError_t pad_channels(Element element, void* to, const float* from, std::size_t rows,
                         int channels, int to_channels, cudaStream_t stream) {
  const auto c = std::size_t(channels);
  const auto padded = std::size_t(to_channels);
  return with_type(element, [&]<typename T>() {
    return for_each(rows * padded, PadChannels<T>{static_cast<T*>(to), from, c, padded}, stream);
  });
}

cudaError_t drop_channels(Element element, float* to, const void* from, std::size_t rows,
                          int from_channels, int channels, cudaStream_t stream) {
  const auto c = std::size_t(channels);
  const auto padded = std::size_t(from_channels);
  return with_type(element, [&]<typename T>() {
    return for_each(rows * c, DropChannels<T>{to, static_cast<const T*>(from), padded, c}, stream);
  });
}

}  // namespace rueda::cuda
