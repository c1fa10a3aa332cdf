#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "operations.hpp"
#include "rueda/kernels/bfloat16.hpp"

namespace rueda::cpu {

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

/// Makes an operation with own loops for the element type of the network's activations.
template <template <typename> typename Op, typename... Arguments>
std::unique_ptr<Operation> make_typed(const OperationRequest& request,
                                      const Arguments&... arguments) {
  return with_element_type(request.context.format.precision,
                           [&]<typename T>() -> std::unique_ptr<Operation> {
                             return std::make_unique<Op<T>>(request, arguments...);
                           });
}

}  // namespace rueda::cpu
