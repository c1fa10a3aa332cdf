#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rueda/core/split.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {

/// A batch file of the Python version: `images` of `set` as a pickle of
/// protocol 2, made of the same opcodes as the official files, which every Python and NumPy reads.
std::vector<std::uint8_t> pickle_batch(const Dataset& dataset, const ImageSet& set, Range images,
                                       const std::string& batch_label);

/// The `batches.meta` of the Python version.
std::vector<std::uint8_t> pickle_meta(const Dataset& dataset, std::size_t images_per_batch);

}  // namespace rueda
