#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "rueda/data/dataset.hpp"

namespace rueda {

using ClassNames = std::array<std::string, kClasses>;

/// Appends the images of one binary file: records of a label byte and kImageBytes pixel bytes.
/// Throws InputError naming the file, the offset and the reason.
void decode_binary(std::span<const std::uint8_t> bytes, const std::string& name, ImageSet& set);

/// Appends the images of one Python file: a pickled dict with `data`, a NumPy uint8 array of shape
/// (N, 3072) or (N, 3, 32, 32), and `labels`, N integers. Throws as decode_binary does.
void decode_python(std::span<const std::uint8_t> bytes, const std::string& name, ImageSet& set);

/// The ten class names in a `batches.meta.txt`, one a line; nothing if they are not ten.
std::optional<ClassNames> binary_class_names(std::span<const std::uint8_t> bytes);

/// The same from `label_names` in a pickled `batches.meta`. Throws if the pickle is damaged.
std::optional<ClassNames> python_class_names(std::span<const std::uint8_t> bytes,
                                             const std::string& name);

}  // namespace rueda
