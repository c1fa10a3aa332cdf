#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.hpp"
#include "base/random.hpp"

namespace rueda::kernels {

/// How the pixels of a stored image become the values of a network's input.
struct PixelTransform {
  int image_size = 32;   ///< side of the output; bilinear resize if it differs from 32
  bool augment = false;  ///< random crop of 32 with a padding of 4 zeros, random flip
  float mean[3] = {0, 0, 0};
  float scale[3] = {1, 1, 1};  ///< value = (pixel - mean) * scale, pixel in 0 ... 255
};

/// The random choices for one sample.
struct SampleAugment {
  int shift_y = 0;  ///< -4 ... 4: the crop's origin relative to the image's
  int shift_x = 0;
  bool flip = false;
};

inline constexpr int kSide = 32;
inline constexpr int kCropPadding = 4;

/// A pure function of (seed, epoch, sample index): never of rank, thread or place in the batch.
RUEDA_HOST_DEVICE inline SampleAugment draw_augment(std::uint64_t seed, std::uint64_t epoch,
                                                    std::uint64_t sample) {
  const std::uint64_t bits = random_bits(seed, 0x6175676dULL /* "augm" */, epoch, sample);
  constexpr std::uint32_t places = 2 * kCropPadding + 1;
  SampleAugment a;
  a.shift_y = int(to_below(bits, places)) - kCropPadding;
  a.shift_x = int(to_below(bits << 20, places)) - kCropPadding;
  a.flip = ((bits >> 3) & 1U) != 0;
  return a;
}

/// Pixel (y, x) of one stored plane after flip and crop; 0 outside the stored image.
RUEDA_HOST_DEVICE inline float cropped(const std::uint8_t* plane, const SampleAugment& a, int y,
                                       int x) {
  const int sy = y + a.shift_y;
  if (a.flip) x = kSide - 1 - x;
  const int sx = x + a.shift_x;
  if (sy < 0 || sy >= kSide || sx < 0 || sx >= kSide) return 0.0F;
  return float(plane[sy * kSide + sx]);
}

/// Source coordinate of output pixel `i` with half-pixel centres, split into
/// the two neighbours and the weight of the upper one.
struct Neighbours {
  int low = 0;
  int high = 0;
  float weight = 0;
};

RUEDA_HOST_DEVICE inline Neighbours neighbours(int i, int size) {
  const float scale = float(kSide) / float(size);
  float centre = (float(i) + 0.5F) * scale - 0.5F;
  if (centre < 0.0F) centre = 0.0F;
  int low = int(centre);
  if (low > kSide - 1) low = kSide - 1;
  int high = low + 1;
  if (high > kSide - 1) high = kSide - 1;
  return {low, high, centre - float(low)};
}

/// Between two pixels, `weight` of the way from the first to the second.
RUEDA_HOST_DEVICE inline float mixed(float first, float second, float weight) {
  return first + (second - first) * weight;
}

/// Bilinear interpolation of the cropped image, unnormalised.
RUEDA_HOST_DEVICE inline float resized(const std::uint8_t* plane, const SampleAugment& a, int size,
                                       int y, int x) {
  if (size == kSide) return cropped(plane, a, y, x);
  const Neighbours v = neighbours(y, size);
  const Neighbours h = neighbours(x, size);
  const float top =
      mixed(cropped(plane, a, v.low, h.low), cropped(plane, a, v.low, h.high), h.weight);
  const float bottom =
      mixed(cropped(plane, a, v.high, h.low), cropped(plane, a, v.high, h.high), h.weight);
  return mixed(top, bottom, v.weight);
}

/// What the network sees of a pixel of channel `c`.
RUEDA_HOST_DEVICE inline float normalised(float pixel, const PixelTransform& t, int c) {
  return (pixel - t.mean[c]) * t.scale[c];
}

/// One value of the network's input: channel `c` at (y, x) of a stored (3, 32, 32) image.
RUEDA_HOST_DEVICE inline float input_value(const std::uint8_t* image, const PixelTransform& t,
                                           const SampleAugment& a, int c, int y, int x) {
  const float pixel = resized(image + std::size_t(c) * kSide * kSide, a, t.image_size, y, x);
  return normalised(pixel, t, c);
}

}  // namespace rueda::kernels
