#pragma once

#include <functional>
#include <map>
#include <vector>

#include "tensor.hpp"

namespace rueda::standin {

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

}  // namespace rueda::standin
