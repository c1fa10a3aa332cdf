#include "cuda/kernels/launch.cuh"
#include "kernels/pixel.hpp"

namespace rueda::cuda {
namespace {

constexpr int kImageChannels = 3;
constexpr std::size_t kImageBytes = std::size_t(kImageChannels) * kernels::kSide * kernels::kSide;

/// One thread a pixel, with all its channels: neighbours in a warp then write
/// neighbouring memory, and what was drawn for the sample serves all channels.
template <typename T>
struct MakePixel {
  BatchSource source;
  kernels::PixelTransform transform;
  std::uint64_t seed;
  std::uint64_t epoch;
  BatchTarget target;

  __device__ void operator()(std::size_t i) const {
    const auto size = std::size_t(transform.image_size);
    const std::size_t sample = i / (size * size);
    const std::size_t pixel = i % (size * size);
    const std::uint32_t index = source.indices[sample];
    if (pixel == 0) target.labels[sample] = source.labels[index];
    const std::uint8_t* image = source.pixels + index * kImageBytes;
    const kernels::SampleAugment augment =
        transform.augment ? kernels::draw_augment(seed, epoch, index) : kernels::SampleAugment{};
    const int y = int(pixel / size);
    const int x = int(pixel % size);
    T* to = static_cast<T*>(target.values) + i * kImageChannels;
#pragma unroll  // so that the transform's arrays stay in registers
    for (int c = 0; c < kImageChannels; ++c)
      to[c] = kernels::from_float<T>(kernels::input_value(image, transform, augment, c, y, x));
  }
};

/// One thread a pack of a window. A row's values follow each other, so a window's do, too.
template <typename T>
struct UnrollRows {
  T* to;
  const T* from;
  kernels::RowWindows w;

  __device__ void operator()(std::size_t i) const {
    constexpr int width = kWide<T>;
    const auto packs = std::size_t(w.stored / width);
    const std::size_t window = i / packs;
    const int first = int(i % packs) * width;
    const std::size_t row = window / std::size_t(w.count);
    const int place = int(window % std::size_t(w.count)) * w.step - w.before + first;
    const T* values = from + row * std::size_t(w.row);
    Pack<T, width> pack;
#pragma unroll
    for (int k = 0; k < width; ++k) {
      const int at = place + k;
      const bool covered = first + k < w.values && at >= 0 && at < w.row;
      pack.values[k] = covered ? values[at] : kernels::from_float<T>(0.0F);
    }
    store_pack(to + i * width, pack);
  }
};

}  // namespace

void make_batch(const BatchSource& source, const kernels::PixelTransform& transform,
                std::uint64_t seed, std::uint64_t epoch, const BatchTarget& target,
                cudaStream_t stream) {
  if (transform.image_size < 1) throw_launch_error(cudaErrorInvalidValue, typeid(&make_batch));
  const auto size = std::size_t(transform.image_size);
  with_type(target.element, [&]<typename T>() {
    for_each(source.count * size * size, MakePixel<T>{source, transform, seed, epoch, target},
             stream);
  });
}

void unroll_rows(Element element, void* to, const void* from, std::size_t rows,
                 const kernels::RowWindows& windows, cudaStream_t stream) {
  with_type(element, [&]<typename T>() {
    if (!aligned_for_packs(to) || windows.stored % kWide<T> != 0)
      throw_launch_error(cudaErrorInvalidValue, typeid(UnrollRows<T>));
    const std::size_t packs = rows * std::size_t(windows.count) * (windows.stored / kWide<T>);
    for_each(packs, UnrollRows<T>{static_cast<T*>(to), static_cast<const T*>(from), windows},
             stream);
  });
}

}  // namespace rueda::cuda
