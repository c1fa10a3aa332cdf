#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "tensor.hpp"

namespace rueda::standin {

/// The tensors of a graph while it is executed: read when first needed, written as soon as made.
class Bindings {
 public:
  using Pointers = std::map<std::int64_t, void*>;
  explicit Bindings(Pointers pointers) : pointers_(std::move(pointers)) {}

  const Dense& get(const TensorSpec& spec);
  /// The one value of a tensor such as epsilon.
  double scalar(const TensorSpec& spec) { return static_cast<double>(get(spec).values[0]); }
  void put(const TensorSpec& spec, Dense dense);

 private:
  Pointers pointers_;
  std::map<std::int64_t, Dense> values_;
};

/// One node of a graph.
struct Operation {
  std::vector<TensorSpec> reads;
  std::vector<TensorSpec> writes;
  std::function<void(Bindings&)> run;
};

// Each refuses shapes that do not fit together.
Operation make_convolution(const Descriptor& descriptor);
Operation make_pointwise(const Descriptor& descriptor);
Operation make_reduction(const Descriptor& descriptor);
Operation make_norm_forward(const Descriptor& descriptor);
Operation make_norm_backward(const Descriptor& descriptor);
Operation make_gen_stats(const Descriptor& descriptor);
Operation make_bn_finalize(const Descriptor& descriptor);
Operation make_resample(const Descriptor& descriptor);

/// Whether descriptors of this type are operations, known or not.
bool is_operation(cudnnBackendDescriptorType_t type);

/// Any of them.
Operation make_operation(const Descriptor& descriptor);

/// The tensor of an attribute that is set for certain.
TensorSpec tensor_at(const Descriptor& descriptor, cudnnBackendAttributeName_t name);

/// The tensor of an attribute; refuses with `what` if it was not set.
TensorSpec needed_tensor(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                         const char* what);

}  // namespace rueda::standin
