#include "tensor.hpp"

#include <algorithm>
#include <cstring>

#include <cuda_bf16.h>

namespace rueda::standin {
namespace {

/// Refuses element types that no graph of the CUDA part has.
std::size_t element_size(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return 4;
    case CUDNN_DATA_BFLOAT16:
      return 2;
    default:
      throw Refusal(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
                    "data type " + std::to_string(type) + " is not known to the stand-in");
  }
}

float read_element(cudnnDataType_t type, const void* memory, std::size_t index) {
  if (type == CUDNN_DATA_FLOAT) return static_cast<const float*>(memory)[index];
  return __bfloat162float(static_cast<const __nv_bfloat16*>(memory)[index]);
}

/// Rounds to nearest even.
void write_element(cudnnDataType_t type, void* memory, std::size_t index, float value) {
  if (type == CUDNN_DATA_FLOAT) {
    static_cast<float*>(memory)[index] = value;
  } else {
    static_cast<__nv_bfloat16*>(memory)[index] = __float2bfloat16(value);
  }
}

Dims up_to_four(const std::vector<std::int64_t>& values) {
  Dims result{1, 1, 1, 1};
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

/// Calls body(pixel of dense, first element in memory) for every pixel.
template <typename Body>
void each_pixel(const TensorSpec& spec, const Body& body) {
  std::size_t pixel = 0;
  for (std::int64_t n = 0; n < spec.dims[0]; ++n) {
    for (std::int64_t h = 0; h < spec.dims[2]; ++h) {
      for (std::int64_t w = 0; w < spec.dims[3]; ++w, ++pixel) {
        body(pixel * static_cast<std::size_t>(spec.dims[1]),
             static_cast<std::size_t>(n * spec.strides[0] + h * spec.strides[2] +
                                      w * spec.strides[3]));
      }
    }
  }
}

/// Calls body(element of dense, element in memory) for every element.
template <typename Body>
void each_element(const TensorSpec& spec, const Body& body) {
  const auto channels = static_cast<std::size_t>(spec.dims[1]);
  const auto stride = static_cast<std::size_t>(spec.strides[1]);
  each_pixel(spec, [&](std::size_t pixel, std::size_t first) {
    for (std::size_t c = 0; c < channels; ++c) body(pixel + c, first + c * stride);
  });
}

}  // namespace

TensorSpec tensor_spec(const Descriptor& descriptor) {
  const auto dims = descriptor.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = descriptor.all<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  require(dims.size() == strides.size(), "TENSOR: as many strides as dimensions are needed");
  require(!dims.empty() && std::all_of(dims.begin(), dims.end(), [](auto d) { return d > 0; }),
          "TENSOR: dimensions must be positive");
  require(dims.size() <= 4, "TENSOR: the stand-in knows four dimensions at most",
          CUDNN_STATUS_NOT_SUPPORTED);
  TensorSpec spec;
  spec.id = descriptor.one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  spec.type = descriptor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  spec.dims = up_to_four(dims);
  spec.strides = up_to_four(strides);
  spec.alignment = descriptor.one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1);
  spec.is_virtual = descriptor.one<std::uint8_t>(CUDNN_ATTR_TENSOR_IS_VIRTUAL) != 0;
  static_cast<void>(element_size(spec.type));
  return spec;
}

std::size_t extent_bytes(const TensorSpec& spec) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < 4; ++i) last += (spec.dims[i] - 1) * spec.strides[i];
  return (static_cast<std::size_t>(last) + 1) * element_size(spec.type);
}

Dense load(const TensorSpec& spec, const void* memory) {
  Dense dense(spec.dims);
  if (spec.type == CUDNN_DATA_FLOAT && spec.strides[1] == 1) {
    const auto bytes = static_cast<std::size_t>(spec.dims[1]) * sizeof(float);
    each_pixel(spec, [&](std::size_t pixel, std::size_t first) {
      std::memcpy(&dense.values[pixel], static_cast<const float*>(memory) + first, bytes);
    });
    return dense;
  }
  each_element(spec, [&](std::size_t to, std::size_t from) {
    dense.values[to] = read_element(spec.type, memory, from);
  });
  return dense;
}

void store(const TensorSpec& spec, const Dense& dense, void* memory) {
  each_element(spec, [&](std::size_t from, std::size_t to) {
    write_element(spec.type, memory, to, dense.values[from]);
  });
}

void round_to_type(cudnnDataType_t type, Dense& dense) {
  if (type != CUDNN_DATA_BFLOAT16) return;
  for (float& value : dense.values) value = __bfloat162float(__float2bfloat16(value));
}

}  // namespace rueda::standin
