#include "columns.cuh"
#include "rueda/kernels/batch_norm.hpp"

// Batch normalisation in two passes over memory each way: forward sums and
// applies, backward sums and applies. Everything that lies next to it is done
// on the way: ReLU, the residual addition, the sum of two readers' gradients,
// the gradient of a skip connection.

namespace rueda::cuda {
namespace {

template <int width>
struct NormColumns {
  kernels::NormChannel of[width];
};

template <int width>
__device__ NormColumns<width> load_columns(const NormWork& w, int channel) {
  NormColumns<width> columns;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    const int c = channel + i;
    columns.of[i] = {w.statistics[c],
                     kernels::inverse_deviation(w.statistics[w.channels + c], w.epsilon),
                     w.gamma[c], w.beta[c]};
  }
  return columns;
}

/// Differences to the first row, and their squares.
template <typename T>
struct StatisticsSums {
  static constexpr int kSums = 2;
  const T* x;
  int channels;

  template <int width>
  __device__ Pack<float, width> begin(int channel) const {
    Pack<float, width> pivots;
    load(x + channel, pivots.values);
    return pivots;
  }
  template <int width>
  __device__ void add(const Pack<float, width>& pivots, std::size_t row, int channel,
                      float (&sums)[kSums][width]) const {
    float v[width];
    load(x + row * channels + channel, v);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const float d = v[i] - pivots.values[i];
      sums[0][i] += d;
      sums[1][i] += d * d;
    }
  }
};

template <typename T>
struct FinishStatistics {
  const T* x;
  float* statistics;
  int channels;
  double rows;

  __device__ void operator()(int channel, const double (&sums)[2]) const {
    const double shift = sums[0] / rows;
    const double variance = sums[1] / rows - shift * shift;
    statistics[channel] = float(kernels::to_float(x[channel]) + shift);
    // Written so that a NaN stays one.
    statistics[channels + channel] = float(variance < 0.0 ? 0.0 : variance);
  }
};

template <typename T>
struct Apply {
  NormWork w;

  template <int width>
  __device__ NormColumns<width> begin(int channel) const {
    return load_columns<width>(w, channel);
  }
  template <int width>
  __device__ void run(const NormColumns<width>& columns, std::size_t row, int channel) const {
    const std::size_t at = row * w.channels + channel;
    float v[width], r[width] = {};
    load(static_cast<const T*>(w.x) + at, v);
    if (w.residual != nullptr) load(static_cast<const T*>(w.residual) + at, r);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      v[i] = kernels::normalised(v[i], columns.of[i]);
      if (w.residual != nullptr) v[i] = v[i] + r[i];
      if (w.relu) v[i] = kernels::relu(v[i]);
    }
    store(static_cast<T*>(w.y) + at, v);
  }
};

/// The gradient that enters the normalisation itself, before residual and ReLU.
template <typename T, int width>
__device__ void load_gradient(const NormWork& w, const NormGradient& g,
                              const NormColumns<width>& columns, const float (&x)[width],
                              std::size_t at, float (&to)[width]) {
  float other[width] = {}, y[width] = {};
  load(static_cast<const T*>(g.dy) + at, to);
  if (g.dy_other != nullptr) load(static_cast<const T*>(g.dy_other) + at, other);
  if (w.residual != nullptr && w.relu) load(static_cast<const T*>(w.y) + at, y);
#pragma unroll
  for (int i = 0; i < width; ++i) {
    if (g.dy_other != nullptr) to[i] = to[i] + other[i];
    if (!w.relu) continue;
    const float output = w.residual != nullptr ? y[i] : kernels::normalised(x[i], columns.of[i]);
    to[i] = kernels::relu_gradient(output, to[i]);
  }
}

template <typename T>
struct GradientSums {
  static constexpr int kSums = 2;
  NormWork w;
  NormGradient g;

  template <int width>
  __device__ NormColumns<width> begin(int channel) const {
    return load_columns<width>(w, channel);
  }
  template <int width>
  __device__ void add(const NormColumns<width>& columns, std::size_t row, int channel,
                      float (&sums)[kSums][width]) const {
    const std::size_t at = row * w.channels + channel;
    float x[width], d[width];
    load(static_cast<const T*>(w.x) + at, x);
    load_gradient<T>(w, g, columns, x, at, d);
    if (g.residual_gradient != nullptr) {
      T* kept = static_cast<T*>(g.residual_gradient) + at;
      store(kept, d);
      load(kept, d);  // as the second pass will read it
    }
#pragma unroll
    for (int i = 0; i < width; ++i) {
      sums[0][i] += d[i];
      sums[1][i] += d[i] * kernels::standardised(x[i], columns.of[i]);
    }
  }
};

template <int width>
struct GradientColumns {
  NormColumns<width> norm;
  kernels::NormGradientMeans means[width];
};

template <typename T>
struct InputGradient {
  NormWork w;
  NormGradient g;
  float rows;

  template <int width>
  __device__ GradientColumns<width> begin(int channel) const {
    GradientColumns<width> columns{load_columns<width>(w, channel), {}};
#pragma unroll
    for (int i = 0; i < width; ++i)
      columns.means[i] = {g.dbeta[channel + i] / rows, g.dgamma[channel + i] / rows};
    return columns;
  }
  template <int width>
  __device__ void run(const GradientColumns<width>& columns, std::size_t row, int channel) const {
    const std::size_t at = row * w.channels + channel;
    float x[width], d[width], addend[width] = {};
    load(static_cast<const T*>(w.x) + at, x);
    if (g.residual_gradient != nullptr)
      load(static_cast<const T*>(g.residual_gradient) + at, d);
    else
      load_gradient<T>(w, g, columns.norm, x, at, d);
    if (g.addend != nullptr) load(static_cast<const T*>(g.addend) + at, addend);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      d[i] = kernels::norm_input_gradient(x[i], d[i], columns.norm.of[i], columns.means[i]);
      if (g.addend != nullptr) d[i] = d[i] + addend[i];
    }
    store(static_cast<T*>(g.dx) + at, d);
  }
};

template <typename T>
struct ColumnSums {
  static constexpr int kSums = 1;
  const T* from;
  int channels;

  template <int width>
  __device__ int begin(int channel) const {
    return channel;
  }
  template <int width>
  __device__ void add(int, std::size_t row, int channel, float (&sums)[kSums][width]) const {
    float v[width];
    load(from + row * channels + channel, v);
#pragma unroll
    for (int i = 0; i < width; ++i) sums[0][i] += v[i];
  }
};

template <typename T>
bool packs_columns(const NormWork& w, const NormGradient& g = {}) {
  return packs_channels<T>(w.channels, w.x, w.residual, w.y, g.dy, g.dy_other, g.addend, g.dx,
                           g.residual_gradient);
}

}  // namespace

std::size_t norm_partial_floats(std::size_t rows, int channels) {
  constexpr std::size_t kSums = 2;
  std::size_t splits = 0;
  for (const int width : {1, kWide<float>, kWide<kernels::Bfloat16>}) {
    if (channels % width != 0) continue;
    splits = std::max<std::size_t>(splits, column_tiles(rows, channels, width).grid.y);
  }
  return splits * kSums * std::size_t(channels);
}

cudaError_t norm_statistics(const NormWork& w, cudaStream_t stream) {
  return with_type(w.element, [&]<typename T>() {
    const T* x = static_cast<const T*>(w.x);
    const FinishStatistics<T> finish{x, w.statistics, w.channels, double(w.rows)};
    return reduce_columns<T>(w.rows, w.channels, packs_columns<T>(w),
                             StatisticsSums<T>{x, w.channels}, w.partial, finish, stream);
  });
}

cudaError_t norm_finish_sums(const NormWork& w, cudaStream_t stream) {
  const auto finish = [=] __device__(std::size_t channel) {
    float* sums = w.statistics + channel;
    const double mean = sums[0] / double(w.rows);
    const double variance = sums[w.channels] / double(w.rows) - mean * mean;
    sums[0] = float(mean);
    sums[w.channels] = float(variance < 0.0 ? 0.0 : variance);  // a NaN stays one
  };
  return for_each(std::size_t(w.channels), finish, stream);
}

cudaError_t norm_apply(const NormWork& w, cudaStream_t stream) {
  return with_type(w.element, [&]<typename T>() {
    return for_each_in_columns<T>(w.rows, w.channels, packs_columns<T>(w), Apply<T>{w}, stream);
  });
}

cudaError_t norm_backward(const NormWork& w, const NormGradient& g, cudaStream_t stream) {
  const auto finish = [=] __device__(int channel, const double(&sums)[2]) {
    g.dbeta[channel] = float(sums[0]);
    g.dgamma[channel] = float(sums[1]);
  };
  return with_type(w.element, [&]<typename T>() {
    const bool packed = packs_columns<T>(w, g);
    const cudaError_t summed = reduce_columns<T>(w.rows, w.channels, packed, GradientSums<T>{w, g},
                                                 w.partial, finish, stream);
    if (summed != cudaSuccess || g.dx == nullptr) return summed;
    const InputGradient<T> body{w, g, float(w.rows)};
    return for_each_in_columns<T>(w.rows, w.channels, packed, body, stream);
  });
}

cudaError_t column_sums(Element element, float* sums, const void* from, std::size_t rows,
                        int channels, float* partial, cudaStream_t stream) {
  const auto finish = [=] __device__(int channel, const double(&of)[1]) {
    sums[channel] = float(of[0]);
  };
  return with_type(element, [&]<typename T>() {
    const T* matrix = static_cast<const T*>(from);
    const bool packed = packs_channels<T>(channels, matrix);
    return reduce_columns<T>(rows, channels, packed, ColumnSums<T>{matrix, channels}, partial,
                             finish, stream);
  });
}

}  // namespace rueda::cuda
