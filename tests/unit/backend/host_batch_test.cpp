#include "rueda/backend/host_batch.hpp"

#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

#include "rueda/core/random.hpp"
#include "rueda/kernels/bfloat16.hpp"

namespace rueda {
namespace {

constexpr std::size_t kImages = 5;

ImageSet some_images() {
  ImageSet set;
  for (std::size_t i = 0; i < kImages * kImageBytes; ++i) {
    set.pixels.push_back(std::uint8_t(random_bits(5, i)));
  }
  set.labels.assign(kImages, 1);
  return set;
}

BatchChoice choice_of(std::span<const std::uint32_t> indices, int size, bool augment) {
  return {
      indices, {size, augment, {125.3F, 123.0F, 113.9F}, {1 / 63.0F, 1 / 62.1F, 1 / 66.7F}}, 11, 4};
}

std::size_t place(const InputFormat& format, int size, int c, int y, int x) {
  const int at =
      format.channels_last ? (y * size + x) * format.channels + c : (c * size + y) * size + x;
  return std::size_t(at);
}

/// Bit for bit what kernels::input_value gives for every value, and zeros behind its channels.
template <typename T>
void check_image(const ImageSet& images, const BatchChoice& choice, std::size_t i,
                 const InputFormat& format) {
  const int size = choice.transform.image_size;
  std::vector<std::byte> made(format.image_bytes(size), std::byte{0xA5});
  std::vector<T> expected(made.size() / sizeof(T));
  make_host_image(images, choice, i, format, made.data());
  const std::uint32_t index = choice.indices[i];
  const kernels::SampleAugment augment =
      choice.transform.augment ? kernels::draw_augment(choice.seed, choice.epoch, index)
                               : kernels::SampleAugment{};
  for (int c = 0; c < kImageChannels; ++c) {
    for (int y = 0; y < size; ++y) {
      for (int x = 0; x < size; ++x) {
        expected[place(format, size, c, y, x)] = kernels::from_float<T>(
            kernels::input_value(images.image(index).data(), choice.transform, augment, c, y, x));
      }
    }
  }
  CHECK(std::memcmp(made.data(), expected.data(), made.size()) == 0);
}

TEST_CASE("host batch: every value is kernels::input_value, in every format", "[host_batch]") {
  const ImageSet images = some_images();
  const std::vector<std::uint32_t> indices = {4, 0, 2};
  for (const int size : {8, 31, 32, 33, 64, 100}) {
    for (const bool augment : {false, true}) {
      CAPTURE(size, augment);
      const BatchChoice choice = choice_of(indices, size, augment);
      for (std::size_t i = 0; i < indices.size(); ++i) {
        check_image<float>(images, choice, i, {});
        check_image<float>(images, choice, i, {.channels_last = true});
        check_image<float>(images, choice, i, {.channels_last = true, .channels = 4});
        check_image<kernels::Bfloat16>(images, choice, i, {.bf16 = true});
        check_image<kernels::Bfloat16>(images, choice, i,
                                       {.bf16 = true, .channels_last = true, .channels = 8});
      }
    }
  }
}

TEST_CASE("host batch: bytes of an image", "[host_batch]") {
  CHECK(InputFormat{}.image_bytes(32) == std::size_t{3} * 32 * 32 * 4);
  CHECK(InputFormat{.bf16 = true, .channels_last = true, .channels = 8}.image_bytes(10) == 1600);
}

}  // namespace
}  // namespace rueda
