#pragma once

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include <cudnn.h>

#include "cuda/device/handles.hpp"

// cuDNN's graph API in C: descriptors that take attributes one by one and are then finalized. This
// thin wrapper needs nothing but cuDNN itself (docs/cuda.md says why no frontend library).

namespace rueda::cuda {

/// Throws the RunError that belongs to a failed cuDNN call: its name, what cuDNN says, the place.
[[noreturn]] void throw_cudnn_error(cudnnStatus_t status, const std::string& call,
                                    std::source_location place);

inline void check(cudnnStatus_t status, const std::string& call,
                  std::source_location place = std::source_location::current()) {
  if (status != CUDNN_STATUS_SUCCESS) throw_cudnn_error(status, call, place);
}

// Which CUDNN_TYPE_* a value of a C++ type is sent as.
constexpr auto attribute_type(std::int64_t) { return CUDNN_TYPE_INT64; }
constexpr auto attribute_type(float) { return CUDNN_TYPE_FLOAT; }
constexpr auto attribute_type(bool) { return CUDNN_TYPE_BOOLEAN; }
constexpr auto attribute_type(char) { return CUDNN_TYPE_CHAR; }
constexpr auto attribute_type(cudnnHandle_t) { return CUDNN_TYPE_HANDLE; }
constexpr auto attribute_type(cudnnDataType_t) { return CUDNN_TYPE_DATA_TYPE; }
constexpr auto attribute_type(cudnnConvolutionMode_t) { return CUDNN_TYPE_CONVOLUTION_MODE; }
constexpr auto attribute_type(cudnnPointwiseMode_t) { return CUDNN_TYPE_POINTWISE_MODE; }
constexpr auto attribute_type(cudnnBackendHeurMode_t) { return CUDNN_TYPE_HEUR_MODE; }
constexpr auto attribute_type(cudnnBackendKnobType_t) { return CUDNN_TYPE_KNOB_TYPE; }
constexpr auto attribute_type(cudnnBackendNumericalNote_t) { return CUDNN_TYPE_NUMERICAL_NOTE; }
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
    std::vector<T> values(get_raw(name, attribute_type(T{}), 0, nullptr));
    if (!values.empty()) {
      const auto room = std::int64_t(values.size());
      values.resize(get_raw(name, attribute_type(T{}), room, values.data()));
    }
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
  /// false if cuDNN does not support what was described; other failures throw.
  bool try_finalize();

  cudnnBackendDescriptor_t get() const noexcept { return handle_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

 private:
  void set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
               std::int64_t count, const void* values);
  /// How many elements there are, of which it reads up to `room`.
  std::size_t get_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                      std::int64_t room, void* values) const;

  Handle<cudnnBackendDescriptor_t, cudnnBackendDestroyDescriptor> handle_;
};

using CudnnHandle = Handle<cudnnHandle_t, cudnnDestroy>;

}  // namespace rueda::cuda
