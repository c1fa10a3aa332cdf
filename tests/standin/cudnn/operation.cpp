#include <algorithm>
#include <cstring>
#include <utility>

#include <cuda_bf16.h>

#include "graph.hpp"

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
      throw Refusal(CUDNN_STATUS_NOT_SUPPORTED,
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
        body(pixel * std::size_t(spec.dims[1]),
             std::size_t(n * spec.strides[0] + h * spec.strides[2] + w * spec.strides[3]));
      }
    }
  }
}

/// Calls body(element of dense, element in memory) for every element.
template <typename Body>
void each_element(const TensorSpec& spec, const Body& body) {
  const auto channels = std::size_t(spec.dims[1]);
  const auto stride = std::size_t(spec.strides[1]);
  each_pixel(spec, [&](std::size_t pixel, std::size_t first) {
    for (std::size_t c = 0; c < channels; ++c) body(pixel + c, first + c * stride);
  });
}

/// An element as if the tensor had the shape of the result: dimensions of size 1 are repeated.
float repeated(const Dense& t, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  const auto kept = [&](std::size_t axis, std::int64_t i) { return t.dims[axis] == 1 ? 0 : i; };
  return t.values[t.at(kept(0, n), kept(1, c), kept(2, h), kept(3, w))];
}

Dense sum_of(const Dims& dims, const Dense& a, const Dense& b) {
  Dense sum(dims);
  std::size_t i = 0;
  for (std::int64_t n = 0; n < dims[0]; ++n) {
    for (std::int64_t h = 0; h < dims[2]; ++h) {
      for (std::int64_t w = 0; w < dims[3]; ++w) {
        for (std::int64_t c = 0; c < dims[1]; ++c, ++i)
          sum.values[i] = repeated(a, n, c, h, w) + repeated(b, n, c, h, w);
      }
    }
  }
  return sum;
}

/// Of pointwise operations only the sum is known.
Operation make_pointwise(const Descriptor& d) {
  const auto kind =
      d.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  const auto mode = kind->one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  require(mode == CUDNN_POINTWISE_ADD,
          "pointwise mode " + std::to_string(mode) + " is not known to the stand-in",
          CUDNN_STATUS_NOT_SUPPORTED);
  const auto x = tensor_at(d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  const auto b = tensor_at(d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  const auto y = tensor_at(d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto fits = [&](const TensorSpec& t) { return t.dims[i] == y.dims[i] || t.dims[i] == 1; };
    require(fits(x) && fits(b), "the shapes of a pointwise operation do not fit");
  }
  return {name_of(d.type), {x, b}, {y}, [=](Bindings& bindings) {
            bindings.put(y, sum_of(y.dims, bindings.get(x), bindings.get(b)));
          }};
}

/// Sums and sums of squares over each channel, for statistics in a convolution's epilogue. They are
/// added to what is there: cuDNN is not known to clear it.
Operation make_gen_stats(const Descriptor& d) {
  const auto x = tensor_at(d, CUDNN_ATTR_OPERATION_GENSTATS_XDESC);
  const auto sum = tensor_at(d, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC);
  const auto square_sum = tensor_at(d, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC);
  for (const TensorSpec& t : {sum, square_sum})
    require(t.dims == Dims{1, x.dims[1], 1, 1}, "sums have one value a channel");
  return {name_of(d.type), {x}, {sum, square_sum}, [=](Bindings& bindings) {
            const std::vector<float>& values = bindings.get(x).values;
            std::vector<double> sums(std::size_t(x.dims[1])), squares(sums);
            for (std::size_t i = 0; i < values.size(); ++i) {
              sums[i % sums.size()] += double(values[i]);
              squares[i % sums.size()] += double(values[i]) * double(values[i]);
            }
            for (const auto& [to, from] : {std::pair(sum, sums), std::pair(square_sum, squares)}) {
              Dense added = bindings.get(to);
              for (std::size_t c = 0; c < from.size(); ++c)
                added.values[c] = float(double(added.values[c]) + from[c]);
              bindings.put(to, std::move(added));
            }
          }};
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
  return (std::size_t(last) + 1) * element_size(spec.type);
}

Dense load(const TensorSpec& spec, const void* memory) {
  Dense dense(spec.dims);
  if (spec.type == CUDNN_DATA_FLOAT && spec.strides[1] == 1) {
    const auto bytes = std::size_t(spec.dims[1]) * sizeof(float);
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

const Dense& Bindings::get(const TensorSpec& spec) {
  const auto found = values_.find(spec.id);
  if (found != values_.end()) return found->second;
  return values_[spec.id] = load(spec, pointers_.at(spec.id));
}

void Bindings::put(const TensorSpec& spec, Dense dense) {
  round_to_type(spec.type, dense);
  if (!spec.is_virtual) store(spec, dense, pointers_.at(spec.id));
  values_[spec.id] = std::move(dense);
}

TensorSpec tensor_at(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  return tensor_spec(*descriptor.child(name, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
}

bool is_operation(cudnnBackendDescriptorType_t type) {
  return name_of(type).starts_with("OPERATION_");
}

Operation make_operation(const Descriptor& descriptor) {
  switch (descriptor.type) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return make_pointwise(descriptor);
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
      return make_gen_stats(descriptor);
    default:
      return make_convolution(descriptor);
  }
}

}  // namespace rueda::standin
