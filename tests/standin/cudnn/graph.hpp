#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <cudnn_graph.h>

#include "tests/standin/standin.hpp"

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
  bool operator==(const TensorSpec&) const = default;
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
  std::string name;
  std::vector<TensorSpec> reads;
  std::vector<TensorSpec> writes;
  std::function<void(Bindings&)> run;
  double flops = 0;  ///< of convolutions
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

/// A finished OPERATIONGRAPH. Unlike cuDNN's, its operations are in the order of their work.
/// Refuses tensors that no operation makes, that two make, or that are described in two ways.
struct OperationGraph {
  explicit OperationGraph(const Descriptor& graph);
  std::vector<Operation> operations;
  std::map<std::int64_t, TensorSpec> tensors;
};

/// A graph on an engine, ready to be executed.
class Plan {
 public:
  /// Refuses what is no ENGINECFG of the stand-in's.
  explicit Plan(DescriptorPtr engine_config);

  const Descriptor& config() const { return *config_; }
  std::int64_t engine() const { return engine_; }

  /// More of each engine than of the one before.
  std::size_t workspace_bytes() const;

  /// What is to be done with these pointers, one launch after the other. Refuses pointers that are
  /// missing, misaligned or not of device memory. `workspace` is overwritten; where others write to
  /// it before the last launch ends, results are NaN.
  std::vector<std::function<void()>> bind(const Bindings::Pointers& pointers,
                                          void* workspace) const;

  /// What an execution does. Channels' sums, which are added to what is there, count as written.
  StandinLaunch launch() const;

 private:
  DescriptorPtr config_;
  std::shared_ptr<const OperationGraph> graph_;
  std::int64_t engine_;
};

/// The plan of an EXECUTION_PLAN: of its ENGINECFG, or of a plan's text.
std::shared_ptr<const Plan> make_plan(const Descriptor& descriptor);

/// A descriptor and all that it refers to as a text, and back. Refuses other texts.
std::string text_of(const Descriptor& descriptor);
DescriptorPtr descriptor_in(const std::string& text);

/// What is not stored but follows: heuristic results, notes of engines, sizes of plans; else what
/// was set.
Value value_of(const Descriptor& descriptor, cudnnBackendAttributeName_t name);

/// How many elements an attribute is said to have by a call that has room for `requested`. cuDNN
/// counts an ENGINECFG's knobs only where there is room for them.
std::int64_t count_for(cudnnBackendAttributeName_t name, const Value& value,
                       std::int64_t requested);

/// Refuses graphs for which the heuristics have no engine.
void check_pattern(const Descriptor& graph);

}  // namespace rueda::standin
