#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
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
      : dims(size), values(std::size_t(size[0] * size[1] * size[2] * size[3])) {}

  std::size_t at(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    return std::size_t(((n * dims[2] + h) * dims[3] + w) * dims[1] + c);
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

/// The tensors of a graph while it is executed: read when first needed, written as soon as made.
class Bindings {
 public:
  using Pointers = std::map<std::int64_t, void*>;
  explicit Bindings(Pointers pointers) : pointers_(std::move(pointers)) {}

  const Dense& get(const TensorSpec& spec);
  void put(const TensorSpec& spec, Dense dense);

 private:
  Pointers pointers_;
  std::map<std::int64_t, Dense> values_;
};

/// One node of a graph.
struct Operation {
  std::vector<TensorSpec> reads;
  std::vector<TensorSpec> writes;
  std::function<void(Bindings&)> run;
};

/// A direction of a convolution, and what its attributes are called.
struct ConvDirection {
  cudnnBackendDescriptorType_t type;
  const char* name;
  cudnnBackendAttributeName_t alpha, beta, conv, w, x, y;
};

inline constexpr ConvDirection kConvDirections[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, "OPERATION_CONVOLUTION_FORWARD",
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     "OPERATION_CONVOLUTION_BACKWARD_DATA", CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     "OPERATION_CONVOLUTION_BACKWARD_FILTER", CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY}};

// Each refuses shapes that do not fit together.
Operation make_convolution(const Descriptor& descriptor);

/// Whether descriptors of this type are operations, known or not.
bool is_operation(cudnnBackendDescriptorType_t type);

/// Any of them.
Operation make_operation(const Descriptor& descriptor);

/// The tensor of an attribute.
TensorSpec tensor_at(const Descriptor& descriptor, cudnnBackendAttributeName_t name);

/// The operations of a finished OPERATIONGRAPH in an order in which each finds what it reads.
/// Refuses tensors that no operation makes, that two make, or that are described in two ways.
std::vector<Operation> operations_in_order(const Descriptor& graph);

/// A graph on an engine, ready to be executed.
class Plan {
 public:
  /// Refuses what is no ENGINECFG of the stand-in's.
  explicit Plan(const Descriptor& engine_config);

  /// Engine 0 needs none.
  std::size_t workspace_bytes() const;

  /// What is to be done with these pointers. Refuses pointers that are missing, misaligned or not
  /// of device memory. `workspace` is overwritten.
  std::function<void()> bind(const Bindings::Pointers& pointers, void* workspace) const;

 private:
  std::shared_ptr<const std::vector<Operation>> operations_;
  std::map<std::int64_t, TensorSpec> tensors_;
  std::int64_t engine_;
};

/// What is not stored but follows: heuristic results, notes of engines, sizes of plans; else what
/// was set.
Value value_of(const Descriptor& descriptor, cudnnBackendAttributeName_t name);

/// Refuses graphs for which the heuristics have no engine.
void check_pattern(const Descriptor& graph);

}  // namespace rueda::standin
