#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "cuda/kernels/kernels.hpp"
#include "device_vector.hpp"
#include "rueda/core/random.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/kernels/bfloat16.hpp"
#include "rueda/kernels/pixel.hpp"

// The batch kernel against rueda::kernels::input_value on the host: equal bit for bit.

namespace {

using rueda::test::DeviceVector;
using rueda::test::first_difference;
using rueda::test::kNoDifference;
namespace kernels = rueda::kernels;

constexpr std::uint64_t kSeed = 11;
constexpr std::uint64_t kEpoch = 4;
constexpr std::size_t kImages = 23;
constexpr float kSentinel = -77;
constexpr std::size_t kMargin = 16;

rueda::ImageSet some_images() {
  rueda::ImageSet set;
  for (std::size_t i = 0; i < kImages * rueda::kImageBytes; ++i) {
    set.pixels.push_back(std::uint8_t(rueda::random_bits(5, i)));
  }
  for (std::size_t i = 0; i < kImages; ++i) {
    set.labels.push_back(std::uint8_t((i * 3 + 1) % rueda::kClasses));
  }
  return set;
}

kernels::PixelTransform transform_to(int size, bool augment) {
  return {size, augment, {125.3F, 123.0F, 113.9F}, {1 / 63.0F, 1 / 62.1F, 1 / 66.7F}};
}

/// Sample `n` of the batch, channels beyond the third zero.
template <typename T>
void make_on_host(const rueda::ImageSet& images, std::uint32_t index, std::size_t n,
                  const kernels::PixelTransform& t, int channels, std::vector<T>& values) {
  const auto augment =
      t.augment ? kernels::draw_augment(kSeed, kEpoch, index) : kernels::SampleAugment{};
  const std::uint8_t* image = images.image(index).data();
  const auto pixels = std::size_t(t.image_size * t.image_size);
  auto value = values.begin() + std::ptrdiff_t(n * pixels) * channels;
  for (int y = 0; y < t.image_size; ++y) {
    for (int x = 0; x < t.image_size; ++x) {
      for (int c = 0; c < channels; ++c) {
        *value++ =
            kernels::from_float<T>(c < 3 ? kernels::input_value(image, t, augment, c, y, x) : 0.0F);
      }
    }
  }
}

template <typename T>
void compare(const kernels::PixelTransform& t, int channels, std::size_t count) {
  const auto stream = rueda::cuda::make_stream();
  const rueda::ImageSet images = some_images();
  std::vector<std::uint32_t> indices;
  for (std::size_t n = 0; n < count; ++n) {
    indices.push_back(std::uint32_t((n * 5 + 22) % kImages));
  }
  const auto pixels = std::size_t(t.image_size * t.image_size);
  const std::size_t elements = count * pixels * std::size_t(channels);
  std::vector<T> values(elements + kMargin, kernels::from_float<T>(kSentinel));
  std::vector<std::int32_t> labels(count + kMargin, -1);

  const DeviceVector<std::uint8_t> device_pixels(images.pixels, stream.get());
  const DeviceVector<std::uint8_t> device_labels(images.labels, stream.get());
  const DeviceVector<std::uint32_t> device_indices(indices, stream.get());
  const DeviceVector<T> batch(values, stream.get());
  rueda::cuda::BatchTarget target{
      .values = batch.data(),
      .element = sizeof(T) == 2 ? rueda::cuda::Element::bf16 : rueda::cuda::Element::fp32,
      .labels = nullptr,
      .channels = channels};
  const DeviceVector<std::int32_t> batch_labels(labels, stream.get());
  target.labels = batch_labels.data();
  CHECK(rueda::cuda::make_batch(
            {device_pixels.data(), device_labels.data(), device_indices.data(), count}, t, kSeed,
            kEpoch, target, stream.get()) == cudaSuccess);

  for (std::size_t n = 0; n < count; ++n) {
    make_on_host(images, indices[n], n, t, channels, values);
    labels[n] = images.labels[indices[n]];
  }
  CHECK(first_difference(batch.read(), values) == kNoDifference);
  CHECK(first_difference(batch_labels.read(), labels) == kNoDifference);
}

}  // namespace

TEST_CASE("make_batch equals the host's with every padding, size and augmentation", "[device]") {
  const int channels = GENERATE(3, 4, 8);
  const int size = GENERATE(32, 1, 7, 31, 48, 224);
  const bool augment = GENERATE(false, true);
  CAPTURE(channels, size, augment);
  compare<float>(transform_to(size, augment), channels, 5);
  compare<kernels::Bfloat16>(transform_to(size, augment), channels, 5);
}

TEST_CASE("make_batch takes any number of samples", "[device]") {
  const auto count = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{1100});
  CAPTURE(count);
  compare<float>(transform_to(32, true), 4, count);
  compare<kernels::Bfloat16>(transform_to(32, true), 8, count);
}

TEST_CASE("make_batch refuses what it could not fill") {
  const auto t = transform_to(32, false);
  CHECK(rueda::cuda::make_batch({}, t, 0, 0, {.channels = 2}, nullptr) == cudaErrorInvalidValue);
  CHECK(rueda::cuda::make_batch({}, transform_to(0, false), 0, 0, {}, nullptr) ==
        cudaErrorInvalidValue);
}
