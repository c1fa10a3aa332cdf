#include "cuda/kernels/columns.cuh"
#include "kernels/batch_norm.hpp"

namespace rueda::cuda {
namespace {

/// b may be aligned to elements only.
template <typename T, bool relu, int alignment = 16>
struct AddActivations {
  static constexpr int kPacks = 2;
  void* to;
  const void* a;
  const void* b;

  template <int width, int packs>
  __device__ void run(PackPlaces at) const {
    const auto x = load_packs<T, width, packs>(a, at);
    const auto y = load_packs<T, width, packs, alignment == 16>(b, at);
    Packs<T, width, packs> sum;
    each_element<width, packs>([&](int k, int i) {
      const float value = x.at(k, i) + y.at(k, i);
      sum.set(k, i, relu ? kernels::relu(value) : value);
    });
    sum.store(to, at);
  }
};

template <typename T, bool two>
struct MaskGradient {
  static constexpr int kPacks = 2;
  void* to;
  const void* output;
  const void* gradient;
  const void* other;

  template <int width, int packs>
  __device__ void run(PackPlaces at) const {
    const auto y = load_packs<T, width, packs>(output, at);
    const auto dy = load_packs<T, width, packs>(gradient, at);
    Packs<T, width, packs> second, masked;
    if constexpr (two) second = load_packs<T, width, packs>(other, at);
    each_element<width, packs>([&](int k, int i) {
      float d = dy.at(k, i);
      if constexpr (two) d = d + second.at(k, i);
      masked.set(k, i, kernels::relu_gradient(y.at(k, i), d));
    });
    masked.store(to, at);
  }
};

/// Stands in for a fusion that cuDNN does not offer, or where it would not pay:
/// in evaluation and partial batches.
template <typename T, bool biased, bool adds>
struct AddBias {
  static constexpr int kSums = 0;
  static constexpr int kTile = kWarpRow<T>;
  static constexpr int kRows = adds ? 2 : 4;
  static constexpr bool kBackwards = true;
  void* y;
  const void* x;
  const float* bias;
  const void* residual;

  __device__ float channel(int c) const { return biased ? bias[c] : 0.0F; }
  template <int width, int rows>
  __device__ void run(const auto& biases, PackPlaces at, auto&) const {
    const auto in = load_packs<T, width, rows>(x, at);
    Packs<T, width, rows> added, sum;
    if constexpr (adds) added = load_packs<T, width, rows>(residual, at);
    each_element<width, rows>([&](int r, int i) {
      float v = in.at(r, i);
      if constexpr (biased) v = v + biases[i];
      if constexpr (adds) v = v + added.at(r, i);
      sum.set(r, i, v);
    });
    sum.store(y, at);
  }
};

// What has to look at the channel of each element: one thread an element,
// because these touch the first layer's weights and test data.

/// The first channels of each row, or all of them and zeros.
template <typename To, typename From>
struct CopyChannels {
  To* to;
  const From* from;
  std::size_t to_channels;
  std::size_t from_channels;

  __device__ void operator()(std::size_t i) const {
    const std::size_t row = i / to_channels;
    const std::size_t c = i % to_channels;
    const bool own = c < from_channels;
    to[i] = kernels::from_float<To>(own ? kernels::to_float(from[row * from_channels + c]) : 0.0F);
  }
};

template <typename To, typename From>
void copy_channels(void* to, int to_channels, const void* from, int from_channels, std::size_t rows,
                   cudaStream_t stream) {
  const CopyChannels<To, From> body{static_cast<To*>(to), static_cast<const From*>(from),
                                    std::size_t(to_channels), std::size_t(from_channels)};
  for_few(rows * body.to_channels, body, stream);
}

}  // namespace

void add_activations(Element element, void* to, const void* a, const void* b, std::size_t count,
                     bool relu, cudaStream_t stream) {
  with_type(element, [&]<typename T>() {
    const std::size_t before = elements_before_packs<T>(to, a, b);
    const auto add = [&](auto width, auto masks) {
      for_each_pack<width>(count, before, AddActivations<T, masks>{to, a, b}, stream);
    };
    with_width<T>(before != kNoPacks, add, relu);
  });
}

/// The ring's scratch memory and the arena seldom lie alike.
void accumulate(float* into, const float* from, std::size_t count, cudaStream_t stream) {
  const AddActivations<float, false, sizeof(float)> apart{into, into, from};
  if (elements_before_packs<float>(into, from) == kNoPacks)
    for_each_pack<kWide<float>>(count, elements_before_packs<float>(into), apart, stream);
  else
    add_activations(Element::fp32, into, into, from, count, false, stream);
}

void mask_gradient(Element element, void* to, const void* output, const void* gradient,
                   const void* other, std::size_t count, cudaStream_t stream) {
  with_type(element, [&]<typename T>() {
    const std::size_t before = elements_before_packs<T>(to, output, gradient, other);
    const auto mask = [&](auto width, auto two) {
      const MaskGradient<T, two> body{to, output, gradient, other};
      for_each_pack<width>(count, before, body, stream);
    };
    with_width<T>(before != kNoPacks, mask, other != nullptr);
  });
}

void add_bias(Element element, void* y, const void* x, const float* bias, const void* residual,
              std::size_t rows, int channels, cudaStream_t stream) {
  with_type(element, [&]<typename T>() {
    const auto add = [&](auto width, auto biased, auto adds) {
      const AddBias<T, biased, adds> body{y, x, bias, residual};
      for_each_in_columns<width>(rows, channels, body, nullptr, stream);
    };
    with_width<T>(packs_channels<T>(channels, y, x, residual), add, bias != nullptr,
                  residual != nullptr);
  });
}

void pad_channels(Element element, void* to, const float* from, std::size_t rows, int channels,
                  int to_channels, cudaStream_t stream) {
  with_type(element, [&]<typename T>() {
    copy_channels<T, float>(to, to_channels, from, channels, rows, stream);
  });
}

void drop_channels(Element element, float* to, const void* from, std::size_t rows,
                   int from_channels, int channels, cudaStream_t stream) {
  with_type(element, [&]<typename T>() {
    copy_channels<float, T>(to, channels, from, from_channels, rows, stream);
  });
}

}  // namespace rueda::cuda
