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

/// Whether cuDNN understood the question and has nothing for it.
inline bool is_not_supported(cudnnStatus_t status) {
  return status >= CUDNN_STATUS_NOT_SUPPORTED && status < CUDNN_STATUS_INTERNAL_ERROR;
}

/// Which CUDNN_TYPE_* a C++ type is sent as.
template <typename T>
inline constexpr cudnnBackendAttributeType_t kAttributeType = T::has_no_attribute_type;
template <>
inline constexpr auto kAttributeType<std::int64_t> = CUDNN_TYPE_INT64;
template <>
inline constexpr auto kAttributeType<float> = CUDNN_TYPE_FLOAT;
template <>
inline constexpr auto kAttributeType<bool> = CUDNN_TYPE_BOOLEAN;
template <>
inline constexpr auto kAttributeType<char> = CUDNN_TYPE_CHAR;
template <>
inline constexpr auto kAttributeType<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
inline constexpr auto kAttributeType<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
inline constexpr auto kAttributeType<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <>
inline constexpr auto kAttributeType<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <>
inline constexpr auto kAttributeType<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <>
inline constexpr auto kAttributeType<cudnnBackendNumericalNote_t> = CUDNN_TYPE_NUMERICAL_NOTE;
template <>
inline constexpr auto kAttributeType<cudnnBackendDescriptor_t> = CUDNN_TYPE_BACKEND_DESCRIPTOR;

/// Sole owner of one backend descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  template <typename T>
  void set(cudnnBackendAttributeName_t name, std::span<const T> values) {
    set_raw(name, kAttributeType<T>, static_cast<std::int64_t>(values.size()), values.data());
  }
  template <typename T>
  void set(cudnnBackendAttributeName_t name, const T& value) {
    set(name, std::span<const T>(&value, 1));
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value) { set(name, value.get()); }
  /// Addresses, which C++ cannot tell from descriptors by their type.
  void set_pointers(cudnnBackendAttributeName_t name, std::span<void* const> pointers) {
    set_raw(name, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(pointers.size()), pointers.data());
  }

  /// The value of a plain attribute, which must have exactly one element.
  template <typename T>
  T get_one(cudnnBackendAttributeName_t name) const {
    T value{};
    get_raw(name, kAttributeType<T>, 1, &value);
    return value;
  }
  /// All elements of a plain attribute.
  template <typename T>
  std::vector<T> get_all(cudnnBackendAttributeName_t name) const {
    std::vector<T> values(count(name, kAttributeType<T>));
    if (!values.empty()) {
      const auto room = static_cast<std::int64_t>(values.size());
      values.resize(get_raw(name, kAttributeType<T>, room, values.data()));
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

  void finalize();
  /// false if cuDNN does not support what was described; other failures throw.
  bool try_finalize();

  cudnnBackendDescriptor_t get() const noexcept { return handle_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

 private:
  void set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
               std::int64_t count, const void* values);
  std::size_t get_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                      std::int64_t room, void* values) const;
  std::size_t count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const;

  Handle<cudnnBackendDescriptor_t, cudnnBackendDestroyDescriptor> handle_;
};

using CudnnHandle = Handle<cudnnHandle_t, cudnnDestroy>;

}  // namespace rueda::cuda
