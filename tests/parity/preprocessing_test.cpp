// rueda's way from pixels to values, its augmentation and its SGD against torchvision, TensorFlow
// and torch.optim (tests/parity/torch_preprocessing.py, keras_preprocessing.py).

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cpu_backend.hpp"
#include "digest.hpp"
#include "formula.hpp"
#include "rueda/optim/sgd.hpp"
#include "rueda/train/pixel_transform.hpp"

namespace rueda::test {
namespace {

using nlohmann::json;

/// How far fp32 may be from the exact values: as often as in figures.cpp what the framework itself
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
  return all_values(config.image_size, [&](const std::uint8_t* image, int c, int y, int x) {
    return kernels::input_value(image, t, {}, c, y, x);
  });
}

/// The largest |a - b|; infinite if one is NaN or there are not as many.
double largest_difference(std::span<const float> values, const std::vector<double>& expected) {
  if (values.size() != expected.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = std::abs(static_cast<double>(values[i]) - expected[i]);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

}  // namespace

TEST_CASE("images are resized as by tf.image.resize", "[parity]") {
  const json reference = read_reference("resize");
  for (const json& expected : reference.at("sizes")) {
    INFO(expected.at("name"));
    TrainConfig config;
    config.normalize = Normalize::scale;
    config.image_size = expected.at("size");
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

TEST_CASE("SGD takes the steps of torch.optim.SGD at changing rates", "[parity]") {
  const json reference = read_reference("sgd");
  for (const json& expected : reference.at("cases")) {
    constexpr std::size_t count = 32;
    cpu::CpuBackend backend({.threads = 1, .layout = {}});
    Sgd optimizer(backend, count,
                  {.momentum = expected.at("momentum"),
                   .weight_decay = expected.at("weight_decay"),
                   .nesterov = expected.at("nesterov")});
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(static_cast<float>(formula_unit("sgd/values", i)));
    }
    const auto& rates = expected.at("rates");
    for (std::size_t s = 0; s < rates.size(); ++s) {
      INFO("momentum " << expected.at("momentum") << ", step " << s);
      std::vector<float> gradients;
      for (std::size_t i = 0; i < count; ++i) {
        gradients.push_back(static_cast<float>(formula_unit("sgd/gradients", s * count + i)));
      }
      optimizer.update(values, gradients, 0, rates[s]);
      const auto after = expected.at("values").at(s).get<std::vector<double>>();
      CHECK(largest_difference(values, after) < 1e-6);
    }
  }
}

}  // namespace rueda::test
