#include "kernels/pixel.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

namespace rueda::kernels {
namespace {

using Image = std::vector<std::uint8_t>;

Image random_image() {
  Image image(3 * kSide * kSide);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = std::uint8_t(random_bits(5, i) >> 56);
  return image;
}

int stored(const Image& image, int c, int y, int x) {
  return image[std::size_t((c * kSide + y) * kSide + x)];
}

/// f(channel, y, x) for every value of a square output.
template <typename F>
void for_each_value(int size, F f) {
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < size; ++y)
      for (int x = 0; x < size; ++x) f(c, y, x);
  }
}

TEST_CASE("pixel: without a transform the value is the pixel", "[kernels][pixel]") {
  const Image image = random_image();
  int wrong = 0;
  for_each_value(kSide, [&](int c, int y, int x) {
    const float value = input_value(image.data(), PixelTransform{}, SampleAugment{}, c, y, x);
    wrong += value == float(stored(image, c, y, x)) ? 0 : 1;
  });
  CHECK(wrong == 0);
}

TEST_CASE("pixel: normalisation by channel", "[kernels][pixel]") {
  const Image image = random_image();
  PixelTransform t;
  for (int c = 0; c < 3; ++c) {
    t.mean[c] = 100.0F + 16.0F * float(c);
    t.scale[c] = 0.25F / float(1 << c);
  }
  CHECK(input_value(image.data(), t, {}, 0, 3, 7) ==
        (float(stored(image, 0, 3, 7)) - 100.0F) * 0.25F);
  CHECK(input_value(image.data(), t, {}, 2, 31, 0) ==
        (float(stored(image, 2, 31, 0)) - 132.0F) * 0.0625F);
}

/// By the definition: pad with four zeros on every side, cut out 32 by 32, flip.
int cropped_by_definition(const Image& image, const SampleAugment& a, int c, int y, int x) {
  static std::array<std::array<int, 40>, 40> padded;
  for (auto& row : padded) row.fill(0);
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j)
      padded[std::size_t(i + 4)][std::size_t(j + 4)] = stored(image, c, i, j);
  }
  const int column = a.flip ? 31 - x : x;
  return padded[std::size_t(y + a.shift_y + 4)][std::size_t(column + a.shift_x + 4)];
}

TEST_CASE("pixel: crop and flip", "[kernels][pixel]") {
  const Image image = random_image();
  for (const SampleAugment& a : {SampleAugment{0, 0, true}, SampleAugment{-4, 4, false},
                                 SampleAugment{3, -2, true}, SampleAugment{4, 1, true}}) {
    CAPTURE(a.shift_y, a.shift_x, a.flip);
    int wrong = 0;
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const float value = input_value(image.data(), {}, a, 1, y, x);
        wrong += value == float(cropped_by_definition(image, a, 1, y, x)) ? 0 : 1;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("pixel: all crops and both flips are drawn equally often", "[kernels][pixel]") {
  std::array<int, 162> seen{};
  constexpr int each = 500;
  for (std::uint64_t sample = 0; sample < 162 * each; ++sample) {
    const SampleAugment a = draw_augment(11, 3, sample);
    REQUIRE(std::max(std::abs(a.shift_y), std::abs(a.shift_x)) <= 4);
    const int place = ((a.shift_y + 4) * 9 + a.shift_x + 4) * 2 + (a.flip ? 1 : 0);
    ++seen[std::size_t(place)];
  }
  const auto [least, most] = std::minmax_element(seen.begin(), seen.end());
  // A count deviates by sqrt(500); five times that is never seen by chance.
  CHECK(*least > each - 5 * 22.4);
  CHECK(*most < each + 5 * 22.4);
  int flips = 0;
  for (std::size_t i = 1; i < seen.size(); i += 2) flips += seen[i];
  CHECK(std::abs(flips - 81 * each) < 5 * std::sqrt(162 * each / 4.0));
}

bool equal(const SampleAugment& a, const SampleAugment& b) {
  return a.shift_y == b.shift_y && a.shift_x == b.shift_x && a.flip == b.flip;
}

TEST_CASE("pixel: the draw depends on seed, epoch and sample alone", "[kernels][pixel]") {
  int other_seed = 0;
  int other_epoch = 0;
  int next_sample = 0;
  for (std::uint64_t sample = 0; sample < 1000; ++sample) {
    const SampleAugment a = draw_augment(1, 2, sample);
    CHECK(equal(a, draw_augment(1, 2, sample)));
    other_seed += equal(a, draw_augment(2, 2, sample)) ? 1 : 0;
    other_epoch += equal(a, draw_augment(1, 3, sample)) ? 1 : 0;
    next_sample += equal(a, draw_augment(1, 2, sample + 1)) ? 1 : 0;
  }
  // Equal by chance in one of 162 cases: 6 +- 2.5.
  CHECK(other_seed < 20);
  CHECK(other_epoch < 20);
  CHECK(next_sample < 20);
}

/// Half-pixel centres, the edge pixels continued: the weight of a source pixel is its closeness.
double resized_by_definition(const Image& image, int c, int size, int y, int x) {
  const auto source = [&](int i) { return std::clamp((i + 0.5) * 32.0 / size - 0.5, 0.0, 31.0); };
  double sum = 0;
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      const double weight =
          std::max(0.0, 1 - std::abs(source(y) - i)) * std::max(0.0, 1 - std::abs(source(x) - j));
      sum += weight * stored(image, c, i, j);
    }
  }
  return sum;
}

TEST_CASE("pixel: bilinear resize with half-pixel centres", "[kernels][pixel]") {
  const Image image = random_image();
  const int size = GENERATE(64, 128, 48, 16, 33);
  PixelTransform t;
  t.image_size = size;
  double worst = 0;
  for_each_value(size, [&](int c, int y, int x) {
    if (y % 3 != 0 && y != size - 1) return;  // a third of the rows, with both borders
    const double value = double(input_value(image.data(), t, {}, c, y, x));
    worst = std::max(worst, std::abs(value - resized_by_definition(image, c, size, y, x)));
  });
  CAPTURE(size);
  // Coordinates up to 32 and values up to 255 round a few times: 4 * 255 * 32 * 2^-24.
  CHECK(worst < 2e-3);
}

TEST_CASE("pixel: the resize sees the cropped image", "[kernels][pixel]") {
  const Image image = random_image();
  const SampleAugment a{-3, 2, true};
  PixelTransform t;
  t.image_size = 64;
  // Output rows 0 and 63 lie outside the first and last source row, so they copy it.
  CHECK(input_value(image.data(), t, a, 2, 63, 0) ==
        float(cropped_by_definition(image, a, 2, 31, 0)));
  CHECK(input_value(image.data(), t, a, 2, 0, 0) == 0.0F);
}

}  // namespace
}  // namespace rueda::kernels
