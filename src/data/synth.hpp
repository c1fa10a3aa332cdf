#pragma once

#include <cstddef>
#include <cstdint>

#include "rueda/data/dataset.hpp"

namespace rueda {

inline constexpr std::size_t kMostDrawnClasses = 100;

/// How many images of each split to draw, from which seed, of how many classes.
struct SynthOptions {
  std::size_t train = 5'000;
  std::size_t test = 1'000;
  std::uint64_t seed = 1;
  std::size_t classes = kClasses;  ///< from 2 to kMostDrawnClasses
};

/// Draws a data set of visibly different classes (shapes and textures in
/// random colour, place, size, rotation, on random backgrounds, with noise);
/// from the eleventh class on an image has two of them, one over the other. A
/// pure function of the options, the same on every machine; labels are balanced
/// (image i of a split has label i mod classes before a fixed shuffle). Colour and
/// mean intensity say nothing about the class, so a linear classifier on pixels
/// stays near chance, while a ResNet learns it within a few epochs.
Dataset draw_synthetic(const SynthOptions& options);

}  // namespace rueda
