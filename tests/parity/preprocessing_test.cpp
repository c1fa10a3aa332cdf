// rueda's way from pixels to values and its augmentation against torchvision and TensorFlow
// (tests/parity/torch_reference.py, keras_reference.py).

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "digest.hpp"
#include "train/train_input.hpp"

namespace rueda::test {
namespace {

using nlohmann::json;

/// How far fp32 may be from the exact values: as often as in digest.cpp what the framework itself
/// is (it rounds the coordinates of a resize, too), and at least a few roundings.
double allowed(const Digest& digest) { return 4.0 * std::max(digest.framework_error, 0x1p-24); }

using PixelOf = std::function<float(const std::uint8_t* image, int c, int y, int x)>;

/// (images, 3, size, size) values.
std::vector<float> all_values(int size, const PixelOf& pixel) {
  const ImageSet images = formula_images(4);
  std::vector<float> values;
  for (std::size_t n = 0; n < images.size(); ++n) {
    for (int c = 0; c < kImageChannels; ++c) {
      for (int y = 0; y < size; ++y) {
        for (int x = 0; x < size; ++x) values.push_back(pixel(images.image(n).data(), c, y, x));
      }
    }
  }
  return values;
}

std::vector<float> inputs(const TrainConfig& config) {
  const kernels::PixelTransform t = pixel_transform(config);
  return all_values(config.model.image_size, [&](const std::uint8_t* image, int c, int y, int x) {
    return kernels::input_value(image, t, {}, c, y, x);
  });
}

}  // namespace

TEST_CASE("images are resized as by tf.image.resize", "[parity]") {
  const json reference = read_reference("resize");
  for (const json& expected : reference.at("sizes")) {
    INFO(expected.at("name"));
    TrainConfig config;
    config.data.normalize = Normalize::scale;
    config.model.image_size = expected.at("size");
    const auto values = inputs(config);
    const Digest digest = read_digest(expected);
    CHECK(deviation(expected.at("name"), values, digest).relative < allowed(digest));
  }
}

TEST_CASE("images are normalised as by torchvision", "[parity]") {
  const json reference = read_reference("preprocessing");
  const Digest expected = read_digest(reference.at("normalised"));
  CHECK(deviation("normalised", inputs({}), expected).relative < allowed(expected));
}

TEST_CASE("images are padded, cropped and flipped as by torchvision", "[parity]") {
  const json reference = read_reference("preprocessing");
  for (const json& expected : reference.at("crops")) {
    INFO(expected.at("name"));
    const kernels::SampleAugment augment{expected.at("top").get<int>() - kernels::kCropPadding,
                                         expected.at("left").get<int>() - kernels::kCropPadding,
                                         expected.at("flip").get<bool>()};
    const auto pixels = all_values(32, [&](const std::uint8_t* image, int c, int y, int x) {
      return kernels::cropped(image + c * 32 * 32, augment, y, x);
    });
    CHECK(deviation(expected.at("name"), pixels, read_digest(expected)).norm == 0.0);
  }
}

TEST_CASE("the augmentation of a sample is drawn as documented", "[parity]") {
  const json reference = read_reference("preprocessing").at("draws");
  const auto& samples = reference.at("samples");
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto a = kernels::draw_augment(reference.at("seed"), reference.at("epoch"), i);
    const std::vector<int> drawn{a.shift_y, a.shift_x, a.flip ? 1 : 0};
    CHECK(drawn == samples[i].get<std::vector<int>>());
  }
}

}  // namespace rueda::test
