#pragma once

#include <array>
#include <cstdint>

#include "rueda/data/dataset.hpp"

namespace rueda {

/// Where a motif lies, all integers.
struct Placement {
  int centre_x = 0;  ///< 1/256 pixel
  int centre_y = 0;
  int radius = 0;  ///< of a circle that about holds the motif, 1/256 pixel
  int angle = 0;   ///< 1/65536 of a turn
  bool round_window = true;
};

/// How much of each pixel of the image the motif covers, in sixteenths: 4 x 4 samples a pixel.
using Mask = std::array<std::uint8_t, std::size_t(kImageSide) * kImageSide>;

/// Draws a motif. Integers throughout, so the same on every machine and with every compiler.
Mask draw_mask(std::size_t label, const Placement& placement);

}  // namespace rueda
