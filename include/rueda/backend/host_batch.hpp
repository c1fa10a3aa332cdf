#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rueda/data/dataset.hpp"
#include "rueda/kernels/pixel.hpp"

namespace rueda {

/// How the input of a network lies in a backend's memory, image after image.
struct InputFormat {
  bool bf16 = false;           ///< else fp32
  bool channels_last = false;  ///< (height, width, channels) in place of (channels, height, width)
  int channels = kImageChannels;  ///< stored ones: those behind the image's are zero

  /// Bytes of one image of `side` x `side` pixels.
  std::size_t image_bytes(int side) const noexcept;
};

/// What decides the values of a batch.
struct BatchChoice {
  std::span<const std::uint32_t> indices;  ///< of the images in their set
  kernels::PixelTransform transform;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
};

/// Crops, flips, resizes and normalises image `i` of a batch, in host memory: the same values as
/// Backend::make_batch gives it, bit for bit. `to` is where the image begins. Any thread.
void make_host_image(const ImageSet& images, const BatchChoice& choice, std::size_t i,
                     const InputFormat& format, std::byte* to);

}  // namespace rueda
