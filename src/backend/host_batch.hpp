#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/pixel.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {

/// What decides the values of a batch.
struct BatchChoice {
  std::span<const std::uint32_t> indices;  ///< of the images in their set
  kernels::PixelTransform transform;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
};

/// Which images become a batch, and how.
struct BatchRequest {
  const DeviceImages* images = nullptr;
  BatchChoice choice;
};

/// Crops, flips, resizes and normalises image `i` of a batch, in host memory:
/// the same values as Backend::make_batch gives it, bit for bit. `to` is where
/// the image begins. Any thread.
void make_host_image(const ImageSet& images, const BatchChoice& choice, std::size_t i,
                     const InputFormat& format, std::byte* to);

}  // namespace rueda
