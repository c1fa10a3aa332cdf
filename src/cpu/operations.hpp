#pragma once

#include <memory>

#include "context.hpp"
#include "rueda/backend/operation.hpp"
#include "rueda/kernels/bfloat16.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::cpu {

/// What a maker of an operation is given. `context` outlives the operation.
struct OperationRequest {
  Context& context;
  const Graph& graph;
  NodeId node;
  int batch;
  Mode mode;

  const Node& self() const { return graph.node(node); }
  NodeId input(std::size_t i = 0) const { return self().inputs.at(i); }
  Precision precision() const { return context.format.precision; }
  dnnl::memory::desc output_desc() const { return context.desc(graph, node, batch); }
  dnnl::memory::desc input_desc(std::size_t i = 0) const {
    return context.desc(graph, input(i), batch);
  }
  dnnl::prop_kind forward_kind() const {
    return mode == Mode::train ? dnnl::prop_kind::forward_training
                               : dnnl::prop_kind::forward_inference;
  }
  float* value(ParameterId id) const {
    return context.parameters.values.data() + graph.parameter(id).offset;
  }
  float* gradient(ParameterId id) const {
    return context.parameters.gradients.data() + graph.parameter(id).offset;
  }
  BlockedView output_view() const { return blocked_view(graph, node, context.format.layout); }
  BlockedView input_view() const { return blocked_view(graph, input(), context.format.layout); }
};

// One for each kind of node.

inline std::unique_ptr<Operation> make(const OperationRequest&, const InputNode&) {
  return nullptr;
}
std::unique_ptr<Operation> make(const OperationRequest& request, const ConvNode& conv);
std::unique_ptr<Operation> make(const OperationRequest& request, const BatchNormNode& norm);
std::unique_ptr<Operation> make(const OperationRequest& request, const AddNode& add);
std::unique_ptr<Operation> make(const OperationRequest& request, const MaxPoolNode& pool);
std::unique_ptr<Operation> make(const OperationRequest& request, const PadShortcutNode& pad);
std::unique_ptr<Operation> make(const OperationRequest& request, const GlobalAveragePoolNode&);
std::unique_ptr<Operation> make(const OperationRequest& request, const DenseNode& dense);

/// A buffer seen as elements of type T: float, kernels::Bfloat16, or the bytes of a workspace.
template <typename T>
T* elements(std::byte* buffer) {
  return reinterpret_cast<T*>(buffer);
}
template <typename T>
const T* elements(const std::byte* buffer) {
  return reinterpret_cast<const T*>(buffer);
}

/// f.operator()<T>() with the element type that `precision` gives to activations.
template <typename F>
auto with_element_type(Precision precision, const F& f) {
  if (precision == Precision::bf16) return f.template operator()<kernels::Bfloat16>();
  return f.template operator()<float>();
}

/// The same with the element type of what `node` puts out.
template <typename F>
auto with_type_of(const Node& node, Precision precision, const F& f) {
  const bool bf16 = element_type(node, precision) == dnnl::memory::data_type::bf16;
  return with_element_type(bf16 ? Precision::bf16 : Precision::fp32, f);
}

}  // namespace rueda::cpu
