#pragma once

#include <cstddef>
#include <cstdint>

#include <cudnn_graph.h>

namespace rueda::standin {

/// Bits that an element takes: booleans are packed, eight to a byte, the first one lowest.
std::size_t element_bits(cudnnDataType_t type);

/// Element `index` of an array of `type`, and how it is written; rounds to nearest even.
float read_element(cudnnDataType_t type, const void* memory, std::size_t index);
void write_element(cudnnDataType_t type, void* memory, std::size_t index, float value);

}  // namespace rueda::standin
