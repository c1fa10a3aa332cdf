#include "cuda/kernels/launch.cuh"
#include "kernels/pixel.hpp"

namespace rueda::cuda {
namespace {

constexpr int kImageChannels = 3;
constexpr std::size_t kImageBytes = std::size_t(kImageChannels) * kernels::kSide * kernels::kSide;

/// One thread a pixel, with all its channels, which are 16 bytes: neighbours in a
/// warp then write neighbouring memory, and what was drawn for the sample serves
/// all channels.
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
    float values[kWide<T>] = {};
#pragma unroll  // so that the transform's arrays stay in registers
    for (int c = 0; c < kImageChannels; ++c)
      values[c] = kernels::input_value(image, transform, augment, c, y, x);
    store(static_cast<T*>(target.values) + i * kWide<T>, values);
  }
};

}  // namespace

void make_batch(const BatchSource& source, const kernels::PixelTransform& transform,
                std::uint64_t seed, std::uint64_t epoch, const BatchTarget& target,
                cudaStream_t stream) {
  if (transform.image_size < 1 || !aligned_for_packs(target.values))
    throw_launch_error(cudaErrorInvalidValue, typeid(&make_batch));
  const auto size = std::size_t(transform.image_size);
  with_type(target.element, [&]<typename T>() {
    for_each(source.count * size * size, MakePixel<T>{source, transform, seed, epoch, target},
             stream);
  });
}

}  // namespace rueda::cuda
