#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include <cudnn.h>

#include "cuda/device/handles.hpp"

// cuDNN's graph API in C: descriptors that take attributes one by one and are
// then finalized. This thin wrapper needs nothing but cuDNN itself
// (docs/cuda.md says why no frontend library).

namespace rueda::cuda {

/// What cuDNN says of a call of this thread that failed.
std::string cudnn_words(cudnnStatus_t status);

/// Throws the RunError that belongs to a failed cuDNN call: its name, what cuDNN says, the place.
void check(cudnnStatus_t status, const std::string& call,
           std::source_location place = std::source_location::current());

// Which CUDNN_TYPE_* a value of a C++ type is sent as.
constexpr auto attribute_type(std::int64_t) { return CUDNN_TYPE_INT64; }
constexpr auto attribute_type(float) { return CUDNN_TYPE_FLOAT; }
constexpr auto attribute_type(bool) { return CUDNN_TYPE_BOOLEAN; }
constexpr auto attribute_type(char) { return CUDNN_TYPE_CHAR; }
constexpr auto attribute_type(cudnnHandle_t) { return CUDNN_TYPE_HANDLE; }
constexpr auto attribute_type(cudnnDataType_t) { return CUDNN_TYPE_DATA_TYPE; }
constexpr auto attribute_type(cudnnConvolutionMode_t) { return CUDNN_TYPE_CONVOLUTION_MODE; }
constexpr auto attribute_type(cudnnPointwiseMode_t) { return CUDNN_TYPE_POINTWISE_MODE; }
constexpr auto attribute_type(cudnnGenStatsMode_t) { return CUDNN_TYPE_GENSTATS_MODE; }
constexpr auto attribute_type(cudnnBackendHeurMode_t) { return CUDNN_TYPE_HEUR_MODE; }
constexpr auto attribute_type(cudnnBackendKnobType_t) { return CUDNN_TYPE_KNOB_TYPE; }
constexpr auto attribute_type(cudnnBackendNumericalNote_t) { return CUDNN_TYPE_NUMERICAL_NOTE; }
constexpr auto attribute_type(cudnnBackendBehaviorNote_t) { return CUDNN_TYPE_BEHAVIOR_NOTE; }
constexpr auto attribute_type(cudnnBackendDescriptor_t) { return CUDNN_TYPE_BACKEND_DESCRIPTOR; }

/// Sole owner of one backend descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  template <typename T>
  void set(cudnnBackendAttributeName_t name, std::span<const T> values) {
    set_raw(name, attribute_type(T{}), std::int64_t(values.size()), values.data());
  }
  template <typename T>
  void set(cudnnBackendAttributeName_t name, const T& value) {
    set(name, std::span<const T>(&value, 1));
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value) { set(name, value.get()); }
  /// Addresses, which C++ cannot tell from descriptors by their type.
  void set_pointers(cudnnBackendAttributeName_t name, std::span<void* const> pointers) {
    set_raw(name, CUDNN_TYPE_VOID_PTR, std::int64_t(pointers.size()), pointers.data());
  }

  /// The value of a plain attribute, which must have exactly one element.
  template <typename T>
  T get_one(cudnnBackendAttributeName_t name) const {
    T value{};
    get_raw(name, attribute_type(T{}), 1, &value);
    return value;
  }
  /// All elements of a plain attribute.
  template <typename T>
  std::vector<T> get_all(cudnnBackendAttributeName_t name) const {
    std::vector<T> values(room_for(name, attribute_type(T{})));
    const auto room = std::int64_t(values.size());
    values.resize(std::min(values.size(), get_raw(name, attribute_type(T{}), room, values.data())));
    return values;
  }
  /// A descriptor-valued attribute, copied into a new descriptor of `type`.
  Descriptor get_descriptor(cudnnBackendAttributeName_t name,
                            cudnnBackendDescriptorType_t type) const;
  /// Up to `most` of a list of descriptors of `type`.
  std::vector<Descriptor> get_descriptors(cudnnBackendAttributeName_t name,
                                          cudnnBackendDescriptorType_t type,
                                          std::size_t most) const;

  void finalize() { check(cudnnBackendFinalize(get()), "cudnnBackendFinalize"); }

  cudnnBackendDescriptor_t get() const noexcept { return handle_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

 private:
  void set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
               std::int64_t count, const void* values);
  /// For how many elements to make room: as many as there are, or some if cuDNN says that there
  /// are none. Of an engine configuration's knobs it says so unless it is given room for them.
  std::size_t room_for(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const;
  /// How many elements there are, of which it reads up to `room`.
  std::size_t get_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                      std::int64_t room, void* values) const;

  Handle<cudnnBackendDescriptor_t, cudnnBackendDestroyDescriptor> handle_;
};

using CudnnHandle = Handle<cudnnHandle_t, cudnnDestroy>;

/// A 4-D tensor as cuDNN counts it: (N, C, H, W), or (K, C, R, S) for weights.
/// It lies with its channels innermost: (N, H, W, C), or (K, R, S, C).
struct TensorSpec {
  std::array<std::int64_t, 4> dims{1, 1, 1, 1};
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::int64_t alignment = 16;  ///< bytes that the address is a multiple of

  std::size_t elements() const noexcept {
    return std::size_t(dims[0] * dims[1] * dims[2] * dims[3]);
  }
};

enum class ConvDirection { forward, data_gradient, weight_gradient };

/// Down, then across.
struct ConvGeometry {
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> padding{0, 0};
};

/// Where plans are made for: the device of a handle, or, without any device,
/// one described by its properties.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  cudnnBackendDescriptor_t properties = nullptr;
};

/// Writes an operation graph down: tensors, then operations in order. Tensors
/// are named by numbers, which are also cuDNN's unique ids: the caller's own
/// below kFirstIntermediate.
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

  /// A convolution of x by w gives y, or makes x or w from the other two: `x`,
  /// `w` and `y` may stand for their gradients.
  void conv(ConvDirection direction, Tensor w, Tensor x, Tensor y, const ConvGeometry& geometry);
  /// y = mode(a, b), in fp32; extents of 1 are broadcast.
  void binary(cudnnPointwiseMode_t mode, Tensor a, Tensor b, Tensor y);
  /// Sums of each channel of x (N, C, H, W) and of its squares, in fp32: (1, C, 1, 1) each.
  void channel_sums(Tensor x, Tensor sums, Tensor square_sums);

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
