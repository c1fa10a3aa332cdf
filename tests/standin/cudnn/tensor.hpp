#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "descriptor.hpp"

namespace rueda::standin {

/// (batch, channels, height, width); of a filter (outputs, inputs, height, width).
using Dims = std::array<std::int64_t, 4>;

/// A tensor as a graph describes it. Fewer than four dimensions are followed by ones.
struct TensorSpec {
  std::int64_t id = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Dims dims{1, 1, 1, 1};
  Dims strides{1, 1, 1, 1};
  std::int64_t alignment = 1;
  bool is_virtual = false;
};

/// Refuses what is no sensible tensor.
TensorSpec tensor_spec(const Descriptor& descriptor);

/// Bytes from the first element to the end of the last.
std::size_t extent_bytes(const TensorSpec& spec);

/// A tensor to calculate with: fp32, channels innermost, packed.
struct Dense {
  Dims dims{0, 0, 0, 0};
  std::vector<float> values;

  Dense() = default;
  explicit Dense(const Dims& size)
      : dims(size), values(static_cast<std::size_t>(size[0] * size[1] * size[2] * size[3])) {}

  std::size_t at(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    return static_cast<std::size_t>(((n * dims[2] + h) * dims[3] + w) * dims[1] + c);
  }
  /// The channels of a pixel.
  float* pixel(std::int64_t n, std::int64_t h, std::int64_t w) { return &values[at(n, 0, h, w)]; }
  const float* pixel(std::int64_t n, std::int64_t h, std::int64_t w) const {
    return &values[at(n, 0, h, w)];
  }
};

/// Reads a tensor that begins at `memory`.
Dense load(const TensorSpec& spec, const void* memory);

/// Rounds to the tensor's type and writes.
void store(const TensorSpec& spec, const Dense& dense, void* memory);

/// The values as the tensor's type can hold them.
void round_to_type(cudnnDataType_t type, Dense& dense);

}  // namespace rueda::standin
