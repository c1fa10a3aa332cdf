#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "rueda/data/dataset.hpp"

namespace rueda {

/// How many images of each split to draw, and from which seed.
struct SynthOptions {
  std::size_t train = 5'000;
  std::size_t test = 1'000;
  std::uint64_t seed = 1;
};

/// Draws a data set of ten visibly different classes (shapes and textures in
/// random colour, place, size, rotation, on random backgrounds, with noise). A
/// pure function of the options, the same on every machine; labels are balanced
/// (image i of a split has label i mod 10 before a fixed shuffle). Colour and
/// mean intensity say nothing about the class, so a linear classifier on pixels
/// stays near chance, while a ResNet learns it within a few epochs.
Dataset draw_synthetic(const SynthOptions& options);

/// The two versions in which the official files come.
enum class Cifar10Format { binary, python };

/// Writes `dataset` below `directory` in exactly the official file format: five
/// training files (`data_batch_1` ... `data_batch_5`, sizes differing by at
/// most one image) and a test file, plus `batches.meta.txt` / `batches.meta`.
/// The directory is created; files are written under a temporary name and
/// renamed. Throws InputError where it cannot be written.
void write_cifar10(const Dataset& dataset, const std::filesystem::path& directory,
                   Cifar10Format format);

}  // namespace rueda
