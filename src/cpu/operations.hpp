#pragma once

#include <memory>
#include <vector>

#include "base/bfloat16.hpp"
#include "cpu/context.hpp"
#include "rueda/backend/operation.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::cpu {

/// What a maker of an operation is given. `context` outlives the operation.
struct OperationRequest : NodeRequest {
  Context& context;

  dnnl::memory::desc output_desc() const { return context.desc(graph, node, batch); }
  dnnl::memory::desc input_desc(std::size_t i = 0) const {
    return context.desc(graph, input(i), batch);
  }
  dnnl::prop_kind forward_kind() const {
    if (mode == Mode::train) return dnnl::prop_kind::forward_training;
    return dnnl::prop_kind::forward_inference;
  }
  bool has_residual() const { return self().inputs.size() > 1; }
  float* value(ParameterId id) const {
    return context.parameters.values.data() + graph.parameter(id).offset;
  }
  float* gradient(ParameterId id) const {
    return context.parameters.gradients.data() + graph.parameter(id).offset;
  }
  ActivationView output_view() const { return context.view(graph, node); }
  ActivationView input_view() const { return context.view(graph, input()); }
};

/// An operation that runs primitives of oneDNN, which `bind` makes, in their order.
class PrimitiveOperation : public Operation {
 public:
  explicit PrimitiveOperation(const OperationRequest& request) : r_(request) {}
  void forward() override { run_all(forward_); }
  void backward() override { run_all(backward_); }

 protected:
  OperationRequest r_;
  std::vector<PrimitiveCall> forward_, backward_;

 private:
  void run_all(std::vector<PrimitiveCall>& calls) {
    for (PrimitiveCall& call : calls) call.run(r_.context.stream);
  }
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

/// Whether Winograd's algorithm computes a convolution: a rule on shapes, so that the same
/// ones always give the same bits.
bool takes_winograd(const OperationRequest& request, const ConvNode& conv);
std::unique_ptr<Operation> make_winograd(const OperationRequest& request, const ConvNode& conv);

/// A buffer seen as elements of type T: float, kernels::Bfloat16, or the bytes of a workspace.
template <typename T>
T* elements(std::byte* buffer) {
  return reinterpret_cast<T*>(buffer);
}
template <typename T>
const T* elements(const std::byte* buffer) {
  return reinterpret_cast<const T*>(buffer);
}

/// f.operator()<T>() with the element type of an activation.
template <typename F>
auto with_element_type(const ActivationView& view, const F& f) {
  if (view.bf16) return f.template operator()<kernels::Bfloat16>();
  return f.template operator()<float>();
}

}  // namespace rueda::cpu
