#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rueda/data/dataset.hpp"
#include "rueda/model/graph.hpp"
#include "weights/origin_tensors.hpp"

namespace rueda::test {

// The values that tests/parity/formula.py computes, bit for bit: of tensors, images and labels from
// a hash of their names.

/// Number `index` of the bits of a name.
std::uint64_t formula_bits(const std::string& name, std::uint64_t index);

/// Number `index` of the values of a name, in [-1, 1), exact in fp32.
double formula_unit(const std::string& name, std::uint64_t index);

/// The values of a parameter or a running statistic, in the origin's order. `gain` scales
/// convolutions and what follows from that for running statistics.
std::vector<float> formula_values(const OriginTensor& tensor, Origin origin, double gain);

/// The first `count` images with their labels.
ImageSet formula_images(std::size_t count);

}  // namespace rueda::test
