#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <cudnn_graph.h>

namespace rueda::standin {

/// What a function of cuDNN answers when it cannot do what was asked.
struct Refusal : std::runtime_error {
  Refusal(cudnnStatus_t status_, const std::string& message)
      : std::runtime_error(message), status(status_) {}
  cudnnStatus_t status;
};

/// Throws a Refusal unless `holds`.
inline void require(bool holds, const std::string& message,
                    cudnnStatus_t status = CUDNN_STATUS_BAD_PARAM) {
  if (!holds) throw Refusal(status, message);
}

class Plan;
struct Descriptor;
using DescriptorPtr = std::shared_ptr<const Descriptor>;

/// What was set for one attribute, as it came.
struct Value {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
  std::int64_t count = 0;
  std::vector<std::byte> bytes;            // of everything but descriptors
  std::vector<DescriptorPtr> descriptors;  // shared, so that they outlive their handles

  Value() = default;
  Value(cudnnBackendAttributeType_t type_, std::int64_t count_, const void* elements);
  template <typename T>
  Value(cudnnBackendAttributeType_t type_, const std::vector<T>& elements)
      : Value(type_, std::int64_t(elements.size()), elements.data()) {}
  explicit Value(std::vector<DescriptorPtr> children)
      : type(CUDNN_TYPE_BACKEND_DESCRIPTOR),
        count(std::int64_t(children.size())),
        descriptors(std::move(children)) {}
};

/// A descriptor of any type: a table of attributes.
struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, Value> values = {};
  std::shared_ptr<const Plan> plan = nullptr;  // of a finished EXECUTION_PLAN

  /// All elements of an attribute as T, which must have the size of its type; empty if not set.
  template <typename T>
  std::vector<T> all(cudnnBackendAttributeName_t name) const {
    const auto found = values.find(name);
    if (found == values.end()) return {};
    std::vector<T> result(found->second.bytes.size() / sizeof(T));
    std::memcpy(result.data(), found->second.bytes.data(), result.size() * sizeof(T));
    return result;
  }

  template <typename T>
  T one(cudnnBackendAttributeName_t name, T otherwise = {}) const {
    const auto values_of_name = all<T>(name);
    return values_of_name.empty() ? otherwise : values_of_name[0];
  }

  /// The one descriptor of an attribute. Refuses if there is none or it is of another type.
  DescriptorPtr child(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t wanted) const;
};

/// Bytes of an element of an attribute.
std::size_t element_bytes(cudnnBackendAttributeType_t type);

/// "CONVOLUTION", "TENSOR": the type of a descriptor for messages.
std::string name_of(cudnnBackendDescriptorType_t type);

/// Refuses an attribute that a descriptor does not have, or not in this type.
void check_attribute(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name,
                     cudnnBackendAttributeType_t type);

/// Refuses a descriptor that lacks something it needs.
void check_complete(const Descriptor& descriptor);

}  // namespace rueda::standin
