#include "cuda/kernels/columns.cuh"
#include "kernels/batch_norm.hpp"

// Batch normalisation in two passes over memory each way: forward sums and
// applies, backward sums and applies. Everything that lies next to it is done
// on the way: ReLU, the residual addition, the sum of two readers' gradients,
// the gradient of a skip connection.

namespace rueda::cuda {
namespace {

__device__ kernels::NormChannel norm_channel(const NormWork& w, int c) {
  return {w.statistics[c], kernels::inverse_deviation(w.statistics[w.channels + c], w.epsilon),
          w.gamma[c], w.beta[c]};
}

/// Differences to the first row, and their squares.
template <typename T>
struct StatisticsSums {
  static constexpr int kSums = 2;
  static constexpr int kTile = 32;
  static constexpr int kRows = 4;
  static constexpr bool kBackwards = false;
  NormWork w;

  __device__ float channel(int c) const { return kernels::to_float(static_cast<const T*>(w.x)[c]); }
  template <int width, int rows>
  __device__ void run(const auto& pivots, PackPlaces at, auto& sums) const {
    const auto x = load_packs<T, width, rows>(w.x, at);
    each_element<width, rows>([&](int r, int i) {
      const float d = x.at(r, i) - pivots[i];
      sums[0][i] += d;
      sums[1][i] += d * d;
    });
  }
  __device__ void finish(int c, const double (&sums)[2]) const {
    const double shift = sums[0] / double(w.rows);
    const double variance = sums[1] / double(w.rows) - shift * shift;
    w.statistics[c] = float(channel(c) + shift);
    // Written so that a NaN stays one.
    w.statistics[w.channels + c] = float(variance < 0.0 ? 0.0 : variance);
  }
};

template <typename T, bool residual, bool relu>
struct Apply {
  static constexpr int kSums = 0;
  static constexpr int kTile = kWarpRow<T>;
  static constexpr int kRows = residual ? 2 : 4;
  static constexpr bool kBackwards = true;
  NormWork w;

  __device__ kernels::NormChannel channel(int c) const { return norm_channel(w, c); }
  template <int width, int rows>
  __device__ void run(const auto& channels, PackPlaces at, auto&) const {
    const auto x = load_packs<T, width, rows>(w.x, at);
    Packs<T, width, rows> added, y;
    if constexpr (residual) added = load_packs<T, width, rows>(w.residual, at);
    each_element<width, rows>([&](int r, int i) {
      float v = kernels::normalised(x.at(r, i), channels[i]);
      if constexpr (residual) v = v + added.at(r, i);
      y.set(r, i, relu ? kernels::relu(v) : v);
    });
    y.store(w.y, at);
  }
};

/// The gradient that enters the normalisation itself, before residual and ReLU.
/// With both the mask is y's, with a ReLU alone it is made again from x.
template <typename T, int width, int rows, bool relu, bool residual, bool two>
struct EnteringGradient {
  Packs<T, width, rows> x, dy, other, y;

  __device__ EnteringGradient(const NormWork& w, const NormGradient& g, PackPlaces at)
      : x(load_packs<T, width, rows>(w.x, at)), dy(load_packs<T, width, rows>(g.dy, at)) {
    if constexpr (two) other = load_packs<T, width, rows>(g.dy_other, at);
    if constexpr (relu && residual) y = load_packs<T, width, rows>(w.y, at);
  }
  __device__ float at(int r, int i, const kernels::NormChannel& c) const {
    float d = dy.at(r, i);
    if constexpr (two) d = d + other.at(r, i);
    if constexpr (!relu) return d;
    return kernels::relu_gradient(residual ? y.at(r, i) : kernels::normalised(x.at(r, i), c), d);
  }
};

template <typename T, bool relu, bool residual, bool two>
struct GradientSums {
  static constexpr int kSums = 2;
  static constexpr int kTile = residual ? kLine<T> : 32;
  static constexpr int kRows = 2;
  static constexpr bool kBackwards = false;
  NormWork w;
  NormGradient g;

  __device__ kernels::NormChannel channel(int c) const { return norm_channel(w, c); }
  template <int width, int rows>
  __device__ void run(const auto& channels, PackPlaces at, auto& sums) const {
    const EnteringGradient<T, width, rows, relu, residual, two> entering(w, g, at);
    Packs<T, width, rows> kept;  // as the second pass will read them
    if constexpr (residual) {
      each_element<width, rows>([&](int r, int i) { kept.set(r, i, entering.at(r, i, {})); });
      kept.store(g.residual_gradient, at);
    }
    each_element<width, rows>([&](int r, int i) {
      const kernels::NormChannel c = channels[i];
      const float d = residual ? kept.at(r, i) : entering.at(r, i, c);
      sums[0][i] += d;
      sums[1][i] += d * kernels::standardised(entering.x.at(r, i), c);
    });
  }
  __device__ void finish(int c, const double (&sums)[2]) const {
    g.dbeta[c] = float(sums[0]);
    g.dgamma[c] = float(sums[1]);
  }
};

/// 24 bytes, read as three words of 8: threads next to each other meet in no
/// bank of shared memory, as they would with a NormChannel, which makes it 32.
struct alignas(8) GradientChannel {
  float mean, inverse_deviation, gamma, beta, gradient, product;

  __device__ kernels::NormChannel norm() const { return {mean, inverse_deviation, gamma, beta}; }
  __device__ kernels::NormGradientMeans means() const { return {gradient, product}; }
};

template <typename T, bool relu, bool two, bool adds, bool summed>
struct InputGradient {
  static constexpr int kSums = summed ? 1 : 0;
  static constexpr int kTile = summed ? 64 : kWarpRow<T>;
  static constexpr int kRows = !relu && two && adds ? 1 : 2;
  static constexpr bool kBackwards = true;
  NormWork w;
  NormGradient g;

  __device__ GradientChannel channel(int c) const {
    const auto rows = float(w.rows);
    const kernels::NormChannel n = norm_channel(w, c);
    return {n.mean, n.inverse_deviation, n.gamma, n.beta, g.dbeta[c] / rows, g.dgamma[c] / rows};
  }
  template <int width, int rows>
  __device__ void run(const auto& channels, PackPlaces at, auto& sums) const {
    const EnteringGradient<T, width, rows, relu, false, two> entering(w, g, at);
    Packs<T, width, rows> added, dx;
    if constexpr (adds) added = load_packs<T, width, rows>(g.addend, at);
    each_element<width, rows>([&](int r, int i) {
      const GradientChannel& c = channels[i];
      const float d = entering.at(r, i, c.norm());
      float own = kernels::norm_input_gradient(entering.x.at(r, i), d, c.norm(), c.means());
      if constexpr (adds) own = own + added.at(r, i);
      dx.set(r, i, own);
    });
    dx.store(g.dx, at);
    if constexpr (summed)
      each_element<width, rows>([&](int r, int i) { sums[0][i] += dx.at(r, i); });
  }
  __device__ void finish(int c, const double (&sums)[1]) const {
    for (float* to : g.input_sums)
      if (to != nullptr) to[c] = float(sums[0]);
  }
};

template <typename T>
struct ColumnSums {
  static constexpr int kSums = 1;
  static constexpr int kTile = 64;
  static constexpr int kRows = 4;
  static constexpr bool kBackwards = false;
  const void* from;
  float* to;

  __device__ int channel(int c) const { return c; }
  template <int width, int rows>
  __device__ void run(const auto&, PackPlaces at, auto& sums) const {
    const auto x = load_packs<T, width, rows>(from, at);
    each_element<width, rows>([&](int r, int i) { sums[0][i] += x.at(r, i); });
  }
  __device__ void finish(int c, const double (&sums)[1]) const { to[c] = float(sums[0]); }
};

template <typename T>
bool packs_columns(const NormWork& w, const NormGradient& g = {}) {
  return packs_channels<T>(w.channels, w.x, w.residual, w.y, g.dy, g.dy_other, g.addend, g.dx,
                           g.residual_gradient);
}

}  // namespace

void norm_statistics(const NormWork& w, cudaStream_t stream) {
  with_type(w.element, [&]<typename T>() {
    with_width<T>(packs_columns<T>(w), [&](auto width) {
      for_each_in_columns<width>(w.rows, w.channels, StatisticsSums<T>{w}, w.scratch, stream);
    });
  });
}

void norm_finish_sums(const NormWork& w, cudaStream_t stream) {
  const auto finish = [=] __device__(std::size_t channel) {
    float* sums = w.statistics + channel;
    const double mean = sums[0] / double(w.rows);
    const double variance = sums[w.channels] / double(w.rows) - mean * mean;
    sums[0] = float(mean);
    sums[w.channels] = float(variance < 0.0 ? 0.0 : variance);  // a NaN stays one
  };
  for_few(w.rows == 0 ? 0 : std::size_t(w.channels), finish, stream);
}

void norm_apply(const NormWork& w, cudaStream_t stream) {
  with_type(w.element, [&]<typename T>() {
    const auto apply = [&](auto width, auto residual, auto relu) {
      for_each_in_columns<width>(w.rows, w.channels, Apply<T, residual, relu>{w}, w.scratch,
                                 stream);
    };
    with_width<T>(packs_columns<T>(w), apply, w.residual != nullptr, w.relu);
  });
}

void norm_gradient_sums(const NormWork& w, const NormGradient& g, cudaStream_t stream) {
  with_type(w.element, [&]<typename T>() {
    const auto sum = [&](auto width, auto relu, auto residual, auto two) {
      for_each_in_columns<width>(w.rows, w.channels, GradientSums<T, relu, residual, two>{w, g},
                                 w.scratch, stream);
    };
    with_width<T>(packs_columns<T>(w, g), sum, w.relu, g.residual_gradient != nullptr,
                  g.dy_other != nullptr);
  });
}

void norm_input_gradient(const NormWork& w, const NormGradient& gradient, cudaStream_t stream) {
  with_type(w.element, [&]<typename T>() {
    NormGradient g = gradient;
    const bool kept = g.residual_gradient != nullptr;
    if (kept) {  // what enters the normalisation
      g.dy = g.residual_gradient;
      g.dy_other = nullptr;
    }
    const auto apply = [&](auto width, auto relu, auto two, auto adds, auto summed) {
      for_each_in_columns<width>(
          w.rows, w.channels, InputGradient<T, relu, two, adds, summed>{w, g}, w.scratch, stream);
    };
    with_width<T>(packs_columns<T>(w, g), apply, w.relu && !kept, g.dy_other != nullptr,
                  g.addend != nullptr, g.input_sums[0] != nullptr || g.input_sums[1] != nullptr);
  });
}

void column_sums(Element element, float* sums, const void* from, std::size_t rows, int channels,
                 SumScratch* scratch, cudaStream_t stream) {
  with_type(element, [&]<typename T>() {
    with_width<T>(packs_channels<T>(channels, from), [&](auto width) {
      for_each_in_columns<width>(rows, channels, ColumnSums<T>{from, sums}, scratch, stream);
    });
  });
}

}  // namespace rueda::cuda
