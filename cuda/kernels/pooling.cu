#include "cuda/kernels/launch.cuh"
#include "kernels/max_pool.hpp"

// A thread takes sixteen bytes of channels of one pixel, or one channel where
// they do not divide so: the threads of a warp then read neighbours, and what
// finds the pixel serves all its channels.

namespace rueda::cuda {
namespace {

/// Where a thread stands. Divisions are in 32 bits, which are several times quicker.
struct Place {
  int n;
  int y;
  int x;
  int c;
};

__device__ inline Place place_of(std::size_t i, const ImageShape& s, int width) {
  auto rest = unsigned(i);
  const auto packs = unsigned(s.channels / width);
  Place p;
  p.c = int(rest % packs) * width;
  rest /= packs;
  p.x = int(rest % unsigned(s.width));
  rest /= unsigned(s.width);
  p.y = int(rest % unsigned(s.height));
  p.n = int(rest / unsigned(s.height));
  return p;
}

__device__ inline std::size_t offset(const ImageShape& s, int n, int y, int x, int c) {
  const auto row = std::size_t(n) * std::size_t(s.height) + std::size_t(y);
  const auto pixel = row * std::size_t(s.width) + std::size_t(x);
  return pixel * std::size_t(s.channels) + std::size_t(c);
}

/// body.run<width>(place) for every pack of an activation of this shape.
template <int width, typename Body>
struct OnPlace {
  ImageShape shape;
  Body body;
  __device__ void operator()(std::size_t i) const {
    body.template run<width>(place_of(i, shape, width));
  }
};

bool is_empty(const ImageShape& s) {
  return s.images == 0 || s.height == 0 || s.width == 0 || s.channels == 0;
}

/// The body for each place of `s`, one of the work's shapes. Nothing where either is empty.
template <typename T, typename Body>
void for_each_place(const PoolWork& work, const ImageShape& s, bool packed, const Body& body,
                    cudaStream_t stream) {
  if (is_empty(work.in) || is_empty(work.out)) return;
  const int width = packed ? kWide<T> : 1;
  const auto packs = std::size_t(s.images) * std::size_t(s.height) * std::size_t(s.width) *
                     std::size_t(s.channels / width);
  if (packs >= (std::size_t{1} << 32U)) throw_launch_error(cudaErrorInvalidValue, typeid(Body));
  if (packed)
    for_each(packs, OnPlace<kWide<T>, Body>{s, body}, stream);
  else
    for_each(packs, OnPlace<1, Body>{s, body}, stream);
}

template <typename T>
struct MaxPool {
  PoolWork w;
  T* y;
  const T* x;
  std::uint8_t* winners;

  template <int width>
  __device__ void run(const Place& p) const {
    float largest[width];
    std::int32_t winner[width];
    for (int i = 0; i < width; ++i) {
      largest[i] = -INFINITY;
      winner[i] = 0;
    }
    for (int place = 0; place < w.kernel * w.kernel; ++place) {
      const int row = p.y * w.stride - w.padding + place / w.kernel;
      const int column = p.x * w.stride - w.padding + place % w.kernel;
      const bool inside = row >= 0 && row < w.in.height && column >= 0 && column < w.in.width;
      if (!inside && !w.zeros) continue;
      Pack<T, width> candidate{};
      if (inside) candidate = pack_at<width>(x + offset(w.in, p.n, row, column, p.c));
#pragma unroll
      for (int i = 0; i < width; ++i)
        kernels::take_larger(largest[i], winner[i], candidate[i], place);
    }
    const std::size_t at = offset(w.out, p.n, p.y, p.x, p.c);
    store(y + at, largest);
    if (winners == nullptr) return;
    Pack<std::uint8_t, width> places;
    for (int i = 0; i < width; ++i) places.values[i] = std::uint8_t(winner[i]);
    store_pack(winners + at, places);
  }
};

/// Each input gathers from the outputs whose windows cover it and whose winner it is.
template <typename T>
struct MaxPoolBackward {
  PoolWork w;
  T* dx;
  const T* dy;
  const std::uint8_t* winners;

  template <int width>
  __device__ void run(const Place& p) const {
    const auto rows = kernels::windows_over(p.y, w.kernel, w.stride, w.padding, w.out.height);
    const auto columns = kernels::windows_over(p.x, w.kernel, w.stride, w.padding, w.out.width);
    float sum[width] = {};
    for (int row = rows.first; row < rows.end; ++row) {
      for (int column = columns.first; column < columns.end; ++column) {
        const int place =
            (p.y + w.padding - row * w.stride) * w.kernel + (p.x + w.padding - column * w.stride);
        const std::size_t from = offset(w.out, p.n, row, column, p.c);
        const auto won = pack_at<width>(winners + from);
        const auto gradient = pack_at<width>(dy + from);
#pragma unroll
        for (int i = 0; i < width; ++i)
          if (won.values[i] == place) sum[i] += gradient[i];
      }
    }
    store(dx + offset(w.in, p.n, p.y, p.x, p.c), sum);
  }
};

/// Zeros before the input's own channels.
__host__ __device__ inline int channels_before(const PoolWork& w) {
  return (w.out.channels - w.in.channels) / 2;
}

/// Whether packs are whole ones of the input's channels or of zeros.
template <typename T>
bool packs_shortcut(const PoolWork& w, const void* a, const void* b) {
  return packs_channels<T>(w.in.channels, a, b) && packs_channels<T>(w.out.channels) &&
         packs_channels<T>(channels_before(w));
}

template <typename T>
struct PadShortcut {
  PoolWork w;
  T* y;
  const T* x;

  template <int width>
  __device__ void run(const Place& p) const {
    const int c = p.c - channels_before(w);
    Pack<T, width> pack{};
    if (c >= 0 && c < w.in.channels)
      pack = pack_at<width>(x + offset(w.in, p.n, p.y * w.stride, p.x * w.stride, c));
    store_pack(y + offset(w.out, p.n, p.y, p.x, p.c), pack);
  }
};

template <typename T>
struct PadShortcutBackward {
  PoolWork w;
  T* dx;
  const T* dy;

  template <int width>
  __device__ void run(const Place& p) const {
    const int c = p.c + channels_before(w);
    Pack<T, width> pack{};
    if (p.y % w.stride == 0 && p.x % w.stride == 0)
      pack = pack_at<width>(dy + offset(w.out, p.n, p.y / w.stride, p.x / w.stride, c));
    store_pack(dx + offset(w.in, p.n, p.y, p.x, p.c), pack);
  }
};

/// A place of the output, which has one pixel an image.
template <typename T>
struct AveragePool {
  ImageShape in;
  float* y;
  const T* x;

  template <int width>
  __device__ void run(const Place& p) const {
    float sum[width] = {};
    const T* image = x + offset(in, p.n, 0, 0, p.c);
    const auto step = std::size_t(in.channels);
    const auto pixels = std::size_t(in.height) * std::size_t(in.width);
    const auto add = [&](std::size_t pixel, auto count) {
      const auto v = load_packs<T, width, count>(image, {pixel * step, step});
      each_element<width, count>([&](int k, int i) { sum[i] += v.at(k, i); });
    };
    std::size_t pixel = 0;
    for (; pixel + 4 <= pixels; pixel += 4) add(pixel, std::integral_constant<int, 4>());
    for (; pixel < pixels; ++pixel) add(pixel, std::integral_constant<int, 1>());
    float* to = y + offset({in.images, in.channels, 1, 1}, p.n, 0, 0, p.c);
    for (int i = 0; i < width; ++i) to[i] = sum[i] / float(in.height * in.width);
  }
};

template <typename T>
struct AveragePoolBackward {
  ImageShape in;
  T* dx;
  const float* dy;

  template <int width>
  __device__ void run(const Place& p) const {
    const auto from = pack_at<width>(dy + offset({in.images, in.channels, 1, 1}, p.n, 0, 0, p.c));
    float v[width];
    for (int i = 0; i < width; ++i) v[i] = from.values[i] / float(in.height * in.width);
    store(dx + offset(in, p.n, p.y, p.x, p.c), v);
  }
};

}  // namespace

void max_pool(const PoolWork& work, void* y, const void* x, std::uint8_t* winners,
              cudaStream_t stream) {
  with_type(work.element, [&]<typename T>() {
    const MaxPool<T> body{work, static_cast<T*>(y), static_cast<const T*>(x), winners};
    for_each_place<T>(work, work.out, packs_channels<T>(work.out.channels, y, x, winners), body,
                      stream);
  });
}

void max_pool_backward(const PoolWork& work, void* dx, const void* dy, const std::uint8_t* winners,
                       cudaStream_t stream) {
  with_type(work.element, [&]<typename T>() {
    const MaxPoolBackward<T> body{work, static_cast<T*>(dx), static_cast<const T*>(dy), winners};
    for_each_place<T>(work, work.in, packs_channels<T>(work.in.channels, dx, dy, winners), body,
                      stream);
  });
}

void pad_shortcut(const PoolWork& work, void* y, const void* x, cudaStream_t stream) {
  with_type(work.element, [&]<typename T>() {
    const PadShortcut<T> body{work, static_cast<T*>(y), static_cast<const T*>(x)};
    for_each_place<T>(work, work.out, packs_shortcut<T>(work, y, x), body, stream);
  });
}

void pad_shortcut_backward(const PoolWork& work, void* dx, const void* dy, cudaStream_t stream) {
  with_type(work.element, [&]<typename T>() {
    const PadShortcutBackward<T> body{work, static_cast<T*>(dx), static_cast<const T*>(dy)};
    for_each_place<T>(work, work.in, packs_shortcut<T>(work, dx, dy), body, stream);
  });
}

void global_average_pool(const PoolWork& work, float* y, const void* x, cudaStream_t stream) {
  with_type(work.element, [&]<typename T>() {
    const AveragePool<T> body{work.in, y, static_cast<const T*>(x)};
    for_each_place<T>(work, work.out, packs_channels<T>(work.in.channels, x), body, stream);
  });
}

void global_average_pool_backward(const PoolWork& work, void* dx, const float* dy,
                                  cudaStream_t stream) {
  with_type(work.element, [&]<typename T>() {
    const AveragePoolBackward<T> body{work.in, static_cast<T*>(dx), dy};
    const bool packed =
        packs_channels<T>(work.in.channels, dx) && elements_before_packs_of<kWide<T>>(dy) == 0;
    for_each_place<T>(work, work.in, packed, body, stream);
  });
}

}  // namespace rueda::cuda
