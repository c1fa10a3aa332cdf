#include "activation_kernels.hpp"
#include "pack.cuh"
#include "rueda/kernels/max_pool.hpp"

// One thread an element, channels innermost, so that the threads of a warp read neighbours.

namespace rueda::cuda {
namespace {

/// Where element i of an activation stands.
struct Place {
  int n;
  int y;
  int x;
  int c;
};

__device__ inline Place place_of(std::size_t i, const ImageShape& s) {
  Place p;
  p.c = static_cast<int>(i % static_cast<std::size_t>(s.channels));
  i /= static_cast<std::size_t>(s.channels);
  p.x = static_cast<int>(i % static_cast<std::size_t>(s.width));
  i /= static_cast<std::size_t>(s.width);
  p.y = static_cast<int>(i % static_cast<std::size_t>(s.height));
  p.n = static_cast<int>(i / static_cast<std::size_t>(s.height));
  return p;
}

__device__ inline std::size_t offset(const ImageShape& s, int n, int y, int x, int c) {
  const auto row = static_cast<std::size_t>(n) * static_cast<std::size_t>(s.height) +
                   static_cast<std::size_t>(y);
  const auto pixel = row * static_cast<std::size_t>(s.width) + static_cast<std::size_t>(x);
  return pixel * static_cast<std::size_t>(s.channels) + static_cast<std::size_t>(c);
}

std::size_t elements(const ImageShape& s) {
  return static_cast<std::size_t>(s.images) * static_cast<std::size_t>(s.height) *
         static_cast<std::size_t>(s.width) * static_cast<std::size_t>(s.channels);
}

template <typename T>
struct MaxPool {
  PoolWork w;
  T* y;
  const T* x;
  std::uint8_t* winners;

  __device__ void operator()(std::size_t i) const {
    const Place p = place_of(i, w.out);
    float largest = -INFINITY;
    std::int32_t winner = 0;
    for (int place = 0; place < w.kernel * w.kernel; ++place) {
      const int row = p.y * w.stride - w.padding + place / w.kernel;
      const int column = p.x * w.stride - w.padding + place % w.kernel;
      const bool inside = row >= 0 && row < w.in.height && column >= 0 && column < w.in.width;
      if (!inside && !w.zeros) continue;
      const float candidate =
          inside ? kernels::to_float(x[offset(w.in, p.n, row, column, p.c)]) : 0.0F;
      kernels::take_larger(largest, winner, candidate, place);
    }
    y[i] = kernels::from_float<T>(largest);
    if (winners != nullptr) winners[i] = static_cast<std::uint8_t>(winner);
  }
};

/// Each input gathers from the outputs whose windows cover it and whose winner it is.
template <typename T>
struct MaxPoolBackward {
  PoolWork w;
  T* dx;
  const T* dy;
  const std::uint8_t* winners;

  __device__ void operator()(std::size_t i) const {
    const Place p = place_of(i, w.in);
    const auto rows = kernels::windows_over(p.y, w.kernel, w.stride, w.padding, w.out.height);
    const auto columns = kernels::windows_over(p.x, w.kernel, w.stride, w.padding, w.out.width);
    float sum = 0.0F;
    for (int row = rows.first; row < rows.end; ++row) {
      for (int column = columns.first; column < columns.end; ++column) {
        const int place =
            (p.y + w.padding - row * w.stride) * w.kernel + (p.x + w.padding - column * w.stride);
        const std::size_t from = offset(w.out, p.n, row, column, p.c);
        if (winners[from] == place) sum += kernels::to_float(dy[from]);
      }
    }
    dx[i] = kernels::from_float<T>(sum);
  }
};

template <typename T>
struct PadShortcut {
  ImageShape in;
  ImageShape out;
  int stride;
  T* y;
  const T* x;

  __device__ void operator()(std::size_t i) const {
    const Place p = place_of(i, out);
    const int c = p.c - (out.channels - in.channels) / 2;
    const bool own = c >= 0 && c < in.channels;
    y[i] = own ? x[offset(in, p.n, p.y * stride, p.x * stride, c)] : T{};
  }
};

template <typename T>
struct PadShortcutBackward {
  ImageShape in;
  ImageShape out;
  int stride;
  T* dx;
  const T* dy;

  __device__ void operator()(std::size_t i) const {
    const Place p = place_of(i, in);
    const bool taken = p.y % stride == 0 && p.x % stride == 0;
    const int c = p.c + (out.channels - in.channels) / 2;
    dx[i] = taken ? dy[offset(out, p.n, p.y / stride, p.x / stride, c)] : T{};
  }
};

/// One thread a channel of an image.
template <typename T>
struct AveragePool {
  ImageShape in;
  float* y;
  const T* x;

  __device__ void operator()(std::size_t i) const {
    const int n = static_cast<int>(i / static_cast<std::size_t>(in.channels));
    const int c = static_cast<int>(i % static_cast<std::size_t>(in.channels));
    float sum = 0.0F;
    for (int row = 0; row < in.height; ++row) {
      for (int column = 0; column < in.width; ++column) {
        sum += kernels::to_float(x[offset(in, n, row, column, c)]);
      }
    }
    y[i] = sum / static_cast<float>(in.height * in.width);
  }
};

template <typename T>
struct AveragePoolBackward {
  ImageShape in;
  T* dx;
  const float* dy;

  __device__ void operator()(std::size_t i) const {
    const Place p = place_of(i, in);
    const std::size_t from = static_cast<std::size_t>(p.n) * static_cast<std::size_t>(in.channels) +
                             static_cast<std::size_t>(p.c);
    dx[i] = kernels::from_float<T>(dy[from] / static_cast<float>(in.height * in.width));
  }
};

}  // namespace

cudaError_t max_pool(const PoolWork& work, void* y, const void* x, std::uint8_t* winners,
                     cudaStream_t stream) {
  return with_type(work.element, [&]<typename T>() {
    return for_each(elements(work.out),
                    MaxPool<T>{work, static_cast<T*>(y), static_cast<const T*>(x), winners},
                    stream);
  });
}

cudaError_t max_pool_backward(const PoolWork& work, void* dx, const void* dy,
                              const std::uint8_t* winners, cudaStream_t stream) {
  return with_type(work.element, [&]<typename T>() {
    return for_each(
        elements(work.in),
        MaxPoolBackward<T>{work, static_cast<T*>(dx), static_cast<const T*>(dy), winners}, stream);
  });
}

cudaError_t pad_shortcut(Element element, void* y, const void* x, const ImageShape& in,
                         const ImageShape& out, int stride, cudaStream_t stream) {
  return with_type(element, [&]<typename T>() {
    return for_each(elements(out),
                    PadShortcut<T>{in, out, stride, static_cast<T*>(y), static_cast<const T*>(x)},
                    stream);
  });
}

cudaError_t pad_shortcut_backward(Element element, void* dx, const void* dy, const ImageShape& in,
                                  const ImageShape& out, int stride, cudaStream_t stream) {
  return with_type(element, [&]<typename T>() {
    return for_each(
        elements(in),
        PadShortcutBackward<T>{in, out, stride, static_cast<T*>(dx), static_cast<const T*>(dy)},
        stream);
  });
}

cudaError_t global_average_pool(Element element, float* y, const void* x, const ImageShape& in,
                                cudaStream_t stream) {
  const auto count = static_cast<std::size_t>(in.images) * static_cast<std::size_t>(in.channels);
  return with_type(element, [&]<typename T>() {
    return for_each(count, AveragePool<T>{in, y, static_cast<const T*>(x)}, stream);
  });
}

cudaError_t global_average_pool_backward(Element element, void* dx, const float* dy,
                                         const ImageShape& in, cudaStream_t stream) {
  return with_type(element, [&]<typename T>() {
    return for_each(elements(in), AveragePoolBackward<T>{in, static_cast<T*>(dx), dy}, stream);
  });
}

}  // namespace rueda::cuda
