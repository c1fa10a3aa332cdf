#include "operation.hpp"

namespace rueda::standin {
namespace {

/// An element as if the tensor had the shape of the result: dimensions of size 1 are repeated.
float repeated(const Dense& t, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  const auto kept = [&](std::size_t axis, std::int64_t i) { return t.dims[axis] == 1 ? 0 : i; };
  return t.values[t.at(kept(0, n), kept(1, c), kept(2, h), kept(3, w))];
}

Dense sum_of(const Dims& dims, const Dense& a, const Dense& b) {
  Dense sum(dims);
  std::size_t i = 0;
  for (std::int64_t n = 0; n < dims[0]; ++n) {
    for (std::int64_t h = 0; h < dims[2]; ++h) {
      for (std::int64_t w = 0; w < dims[3]; ++w) {
        for (std::int64_t c = 0; c < dims[1]; ++c, ++i) {
          sum.values[i] = repeated(a, n, c, h, w) + repeated(b, n, c, h, w);
        }
      }
    }
  }
  return sum;
}

/// Of pointwise operations only the sum is known.
Operation make_pointwise(const Descriptor& d) {
  const auto kind =
      d.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  const auto mode = kind->one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  require(mode == CUDNN_POINTWISE_ADD,
          "pointwise mode " + std::to_string(mode) + " is not known to the stand-in",
          CUDNN_STATUS_NOT_SUPPORTED);
  const auto x = tensor_at(d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  const auto b = tensor_at(d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  const auto y = tensor_at(d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto fits = [&](const TensorSpec& t) { return t.dims[i] == y.dims[i] || t.dims[i] == 1; };
    require(fits(x) && fits(b), "the shapes of a pointwise operation do not fit",
            CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  }
  return {{x, b}, {y}, [=](Bindings& bindings) {
            bindings.put(y, sum_of(y.dims, bindings.get(x), bindings.get(b)));
          }};
}

}  // namespace

const Dense& Bindings::get(const TensorSpec& spec) {
  const auto found = values_.find(spec.id);
  if (found != values_.end()) return found->second;
  return values_[spec.id] = load(spec, pointers_.at(spec.id));
}

void Bindings::put(const TensorSpec& spec, Dense dense) {
  round_to_type(spec.type, dense);
  if (!spec.is_virtual) store(spec, dense, pointers_.at(spec.id));
  values_[spec.id] = std::move(dense);
}

TensorSpec tensor_at(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  return tensor_spec(*descriptor.child(name, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
}

bool is_operation(cudnnBackendDescriptorType_t type) {
  return name_of(type).starts_with("OPERATION_");
}

Operation make_operation(const Descriptor& descriptor) {
  return descriptor.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR
             ? make_pointwise(descriptor)
             : make_convolution(descriptor);
}

}  // namespace rueda::standin
