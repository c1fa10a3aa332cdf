#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "cudnn_descriptor.hpp"

namespace rueda::cuda {

/// A 4-D tensor as cuDNN counts it: (N, C, H, W), or (K, C, R, S) for weights, whatever the order
/// in memory, which the strides tell.
struct TensorSpec {
  std::array<std::int64_t, 4> dims{1, 1, 1, 1};
  std::array<std::int64_t, 4> strides{1, 1, 1, 1};  ///< in elements
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::int64_t alignment = 16;  ///< bytes that the address is a multiple of
};

/// Channels innermost: activations as (N, H, W, C), weights as (K, R, S, C).
TensorSpec channels_last(const std::array<std::int64_t, 4>& dims, cudnnDataType_t type);
/// One fp32 value per channel.
TensorSpec per_channel(std::int64_t channels);

enum class ConvDirection { forward, data_gradient, weight_gradient };

struct ConvGeometry {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
};

/// Where plans are made for: the device of a handle, or, without any device, one described by its
/// properties.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  cudnnBackendDescriptor_t properties = nullptr;
};

/// Writes an operation graph down: tensors, then operations in order. Tensors are named by numbers,
/// which are also cuDNN's unique ids: the caller's own below kFirstIntermediate.
class CudnnGraph {
 public:
  using Tensor = std::int64_t;

  static constexpr Tensor kFirstIntermediate = 100;

  /// A tensor that lies in memory.
  Tensor tensor(Tensor id, const TensorSpec& spec);
  /// A tensor between two operations that never reaches memory.
  Tensor intermediate(const TensorSpec& spec);
  /// The tensors that lie in memory.
  const std::map<Tensor, TensorSpec>& in_memory() const noexcept { return in_memory_; }

  /// A convolution of x by w gives y, or makes x or w from the other two: `x`, `w` and `y` may
  /// stand for their gradients.
  void conv(ConvDirection direction, Tensor w, Tensor x, Tensor y, const ConvGeometry& geometry);
  /// y = mode(a, b), in fp32; extents of 1 are broadcast.
  void binary(cudnnPointwiseMode_t mode, Tensor a, Tensor b, Tensor y);

  /// Hands the finished operation graph over.
  Descriptor finish(const CudnnTarget& target);

 private:
  void add(Tensor id, const TensorSpec& spec, bool is_virtual);
  const Descriptor& at(Tensor id) const { return tensors_.at(id); }

  std::map<Tensor, Descriptor> tensors_;
  std::map<Tensor, TensorSpec> in_memory_;
  std::vector<Descriptor> parts_;  ///< descriptors that operations refer to
  std::vector<Descriptor> operations_;
};

}  // namespace rueda::cuda
