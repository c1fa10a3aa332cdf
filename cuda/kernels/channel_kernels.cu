#include "activation_kernels.hpp"
#include "pack.cuh"

// What has to look at the channel of each element: one thread an element, because these touch
// weights, images and test data, or stand in for a fusion that cuDNN does not offer.

namespace rueda::cuda {
namespace {

template <typename T>
struct AddBias {
  T* y;
  const T* x;
  const float* bias;
  const T* residual;
  std::size_t channels;

  __device__ void operator()(std::size_t i) const {
    float v = kernels::to_float(x[i]);
    if (bias != nullptr) v = v + bias[i % channels];
    if (residual != nullptr) v = v + kernels::to_float(residual[i]);
    y[i] = kernels::from_float<T>(v);
  }
};

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

/// Element i of a plain (N, C, H, W) tensor lies at `at(i)` of the activation.
struct PlainPlaces {
  std::size_t channels;
  std::size_t pixels;
  std::size_t stored;

  __device__ std::size_t at(std::size_t i) const {
    const std::size_t pixel = i % pixels;
    const std::size_t c = i / pixels % channels;
    const std::size_t n = i / pixels / channels;
    return (n * pixels + pixel) * stored + c;
  }
};

template <typename T>
struct FromPlain {
  T* to;
  const float* from;
  PlainPlaces places;
  __device__ void operator()(std::size_t i) const {
    to[places.at(i)] = kernels::from_float<T>(from[i]);
  }
};

template <typename T>
struct ToPlain {
  float* to;
  const T* from;
  PlainPlaces places;
  __device__ void operator()(std::size_t i) const { to[i] = kernels::to_float(from[places.at(i)]); }
};

PlainPlaces places_of(const ImageShape& s, int stored) {
  return {static_cast<std::size_t>(s.channels),
          static_cast<std::size_t>(s.height) * static_cast<std::size_t>(s.width),
          static_cast<std::size_t>(stored)};
}

std::size_t images_of(const ImageShape& s) { return static_cast<std::size_t>(s.images); }

}  // namespace

cudaError_t add_bias(Element element, void* y, const void* x, const float* bias,
                     const void* residual, std::size_t rows, int channels, cudaStream_t stream) {
  const auto c = static_cast<std::size_t>(channels);
  return with_type(element, [&]<typename T>() {
    return for_each(rows * c,
                    AddBias<T>{static_cast<T*>(y), static_cast<const T*>(x), bias,
                               static_cast<const T*>(residual), c},
                    stream);
  });
}

cudaError_t pad_channels(Element element, void* to, const float* from, std::size_t rows,
                         int channels, int to_channels, cudaStream_t stream) {
  const auto c = static_cast<std::size_t>(channels);
  const auto padded = static_cast<std::size_t>(to_channels);
  return with_type(element, [&]<typename T>() {
    return for_each(rows * padded, PadChannels<T>{static_cast<T*>(to), from, c, padded}, stream);
  });
}

cudaError_t drop_channels(Element element, float* to, const void* from, std::size_t rows,
                          int from_channels, int channels, cudaStream_t stream) {
  const auto c = static_cast<std::size_t>(channels);
  const auto padded = static_cast<std::size_t>(from_channels);
  return with_type(element, [&]<typename T>() {
    return for_each(rows * c, DropChannels<T>{to, static_cast<const T*>(from), padded, c}, stream);
  });
}

cudaError_t from_plain(Element element, void* to, const float* from, const ImageShape& shape,
                       int stored, cudaStream_t stream) {
  const PlainPlaces places = places_of(shape, stored);
  const std::size_t pixels = images_of(shape) * places.pixels;
  const cudaError_t zeroed =
      cudaMemsetAsync(to, 0, pixels * places.stored * bytes_of(element), stream);
  if (zeroed != cudaSuccess) return zeroed;
  return with_type(element, [&]<typename T>() {
    return for_each(pixels * places.channels, FromPlain<T>{static_cast<T*>(to), from, places},
                    stream);
  });
}

cudaError_t to_plain(Element element, float* to, const void* from, const ImageShape& shape,
                     int stored, cudaStream_t stream) {
  const PlainPlaces places = places_of(shape, stored);
  return with_type(element, [&]<typename T>() {
    return for_each(images_of(shape) * places.pixels * places.channels,
                    ToPlain<T>{to, static_cast<const T*>(from), places}, stream);
  });
}

}  // namespace rueda::cuda
