#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "rueda/data/dataset.hpp"

namespace rueda {

/// What a synthetic image shows; the value is its label. The last three are textures, seen through
/// a round or a square window.
enum class Motif : std::uint8_t {
  disc,
  ring,
  square,
  triangle,
  cross,
  star,
  crescent,
  stripes,
  checks,
  dots,
};

inline constexpr std::array<std::string_view, kClasses> kMotifNames{
    "disc", "ring", "square", "triangle", "cross", "star", "crescent", "stripes", "checks", "dots"};

/// Where a motif lies, all integers.
struct Placement {
  int centre_x = 0;  ///< 1/256 pixel
  int centre_y = 0;
  int radius = 0;  ///< of a circle that about holds the motif, 1/256 pixel
  int angle = 0;   ///< 1/65536 of a turn
  bool round_window = true;
};

/// How much of each pixel of the image the motif covers, in sixteenths: 4 x 4 samples a pixel.
using Mask = std::array<std::uint8_t, static_cast<std::size_t>(kImageSide) * kImageSide>;

/// Draws the motif. Integers throughout, so the same on every machine and with every compiler.
Mask draw_mask(Motif motif, const Placement& placement);

}  // namespace rueda
