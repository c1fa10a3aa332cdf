#include "rueda/data/synth.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>

#include "rueda/core/random.hpp"
#include "synth_shapes.hpp"

namespace rueda {
namespace {

/// The random draws of one image, in order.
class Draws {
 public:
  explicit Draws(std::uint64_t key) : key_(key) {}

  std::uint64_t bits() noexcept { return random_bits(key_, count_++); }
  bool coin() noexcept { return (bits() >> 63) != 0; }
  /// An integer from `low` to `high`, both included.
  int between(int low, int high) noexcept {
    return low + int(to_below(bits(), std::uint32_t(high - low + 1)));
  }

 private:
  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

// What makes the set easier or harder. Lengths in 1/256 pixel, colours in 1/255.
constexpr int kSmallestRadius = 8 * 256;
constexpr int kLargestRadius = 13 * 256;
constexpr int kSmallestContrast = 70;
constexpr int kLargestContrast = 130;
constexpr int kTint = 30;      ///< how far a channel may lie from the colour's grey
constexpr int kGradient = 24;  ///< background, from the middle to an edge
constexpr int kNoiseSigma = 8;

using Colour = std::array<int, kImageChannels>;

Colour tinted(int grey, Draws& draws) {
  Colour colour{};
  for (int& channel : colour) channel = std::clamp(grey + draws.between(-kTint, kTint), 0, 255);
  return colour;
}

/// Background and foreground. Either is the lighter one with equal chance, so that neither a
/// pixel's value nor the mean says anything about the class.
std::pair<Colour, Colour> draw_colours(Draws& draws) {
  const int contrast = draws.between(kSmallestContrast, kLargestContrast);
  const int darker = draws.between(20, 235 - contrast);
  Colour dark = tinted(darker, draws);
  Colour light = tinted(darker + contrast, draws);
  if (draws.coin()) std::swap(dark, light);
  return {dark, light};
}

Placement draw_placement(Draws& draws) {
  constexpr int kSide = kImageSide * 256;
  // A motif may lose a little at the edge of the image.
  constexpr int kOverhang = 256;
  const int radius = draws.between(kSmallestRadius, kLargestRadius);
  const int margin = std::min(radius - kOverhang, kSide / 2);
  return {.centre_x = draws.between(margin, kSide - margin),
          .centre_y = draws.between(margin, kSide - margin),
          .radius = radius,
          .angle = draws.between(0, 0xffff),
          .round_window = draws.coin()};
}

/// About normal with sigma kNoiseSigma: the number of ones among 64 random bits is binomial with
/// mean 32 and sigma 4.
int draw_noise(Draws& draws) { return (std::popcount(draws.bits()) - 32) * kNoiseSigma / 4; }

void draw_image(std::size_t label, Draws draws, std::uint8_t* pixels) {
  const auto [background, foreground] = draw_colours(draws);
  const Placement placement = draw_placement(draws);
  const int slope_x = draws.between(-kGradient, kGradient);
  const int slope_y = draws.between(-kGradient, kGradient);
  const Mask mask = draw_mask(label, placement);
  for (std::size_t c = 0; c < background.size(); ++c) {
    for (std::size_t i = 0; i < mask.size(); ++i) {
      const int x = int(i % kImageSide) - kImageSide / 2;
      const int y = int(i / kImageSide) - kImageSide / 2;
      const int behind = background[c] + (slope_x * x + slope_y * y) / (kImageSide / 2);
      const int covered = (behind * (16 - mask[i]) + foreground[c] * mask[i] + 8) / 16;
      *pixels++ = std::uint8_t(std::clamp(covered + draw_noise(draws), 0, 255));
    }
  }
}

/// The labels 0, 1, ... 9, 0, 1, ... in random order.
std::vector<std::uint8_t> draw_labels(std::size_t count, std::uint64_t key) {
  std::vector<std::uint8_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = std::uint8_t(i % kClasses);
  for (std::size_t i = count; i-- > 1;) {
    const auto bound = std::uint32_t(i + 1);
    std::swap(labels[i], labels[to_below(random_bits(key, key_of("labels"), i), bound)]);
  }
  return labels;
}

ImageSet draw_split(std::size_t count, std::uint64_t seed, std::string_view split) {
  const std::uint64_t key = random_bits(seed, key_of("synthetic"), key_of(split));
  ImageSet set;
  set.labels = draw_labels(count, key);
  set.pixels.resize(count * kImageBytes);
  for (std::size_t i = 0; i < count; ++i)
    draw_image(set.labels[i], Draws(random_bits(key, i)), set.pixels.data() + i * kImageBytes);
  return set;
}

}  // namespace

Dataset draw_synthetic(const SynthOptions& options) {
  Dataset dataset;
  dataset.source = "synthetic";
  for (std::size_t i = 0; i < dataset.class_names.size(); ++i)
    dataset.class_names[i] = motif_name(i);
  dataset.train = draw_split(options.train, options.seed, "train");
  dataset.test = draw_split(options.test, options.seed, "test");
  return dataset;
}

}  // namespace rueda
