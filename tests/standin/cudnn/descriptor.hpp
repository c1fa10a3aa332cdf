#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cudnn_graph.h>

#include "refusal.hpp"

namespace rueda::standin {

class Plan;
struct Descriptor;
using DescriptorPtr = std::shared_ptr<const Descriptor>;

/// What was set for one attribute, as it came.
struct Value {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
  std::int64_t count = 0;
  std::vector<std::byte> bytes;            // of everything but descriptors
  std::vector<DescriptorPtr> descriptors;  // shared, so that they outlive their handles
};

/// A descriptor of any type: a table of attributes.
struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, Value> values;
  std::shared_ptr<const Plan> plan;  // of a finished EXECUTION_PLAN

  bool has(cudnnBackendAttributeName_t name) const { return values.count(name) != 0; }

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

  /// A number that may have been set as float or as double.
  double number(cudnnBackendAttributeName_t name, double otherwise) const;
  /// Whole numbers that may have been set as fractions of denominator 1.
  std::vector<std::int64_t> integers(cudnnBackendAttributeName_t name) const;
  /// The one descriptor of an attribute; null if not set.
  DescriptorPtr child(cudnnBackendAttributeName_t name) const;

  template <typename T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t value_type,
           const std::vector<T>& elements) {
    Value& value = values[name];
    value = {value_type, static_cast<std::int64_t>(elements.size()), {}, {}};
    const auto* first = reinterpret_cast<const std::byte*>(elements.data());
    value.bytes.assign(first, first + elements.size() * sizeof(T));
  }
  void set(cudnnBackendAttributeName_t name, std::vector<DescriptorPtr> children);
};

/// Bytes of an element of an attribute; 0 for a type that the stand-in does not know.
std::size_t element_bytes(cudnnBackendAttributeType_t type);

/// "CONVOLUTION", "TENSOR": the type of a descriptor for messages.
std::string name_of(cudnnBackendDescriptorType_t type);

/// Refuses an attribute that a descriptor does not have, or not in this type.
void check_attribute(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name,
                     cudnnBackendAttributeType_t type);

/// Refuses a descriptor that lacks something it needs.
void check_complete(const Descriptor& descriptor);

}  // namespace rueda::standin
