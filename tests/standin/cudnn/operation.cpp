#include "operation.hpp"

namespace rueda::standin {

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
  return needed_tensor(descriptor, name, "a tensor");
}

TensorSpec needed_tensor(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                         const char* what) {
  const DescriptorPtr tensor = descriptor.child(name);
  require(tensor != nullptr, name_of(descriptor.type) + " lacks " + what);
  require(tensor->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR,
          name_of(descriptor.type) + ": " + what + " is given by another descriptor",
          CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
  return tensor_spec(*tensor);
}

bool is_operation(cudnnBackendDescriptorType_t type) {
  return name_of(type).rfind("OPERATION_", 0) == 0;
}

Operation make_operation(const Descriptor& descriptor) {
  switch (descriptor.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return make_convolution(descriptor);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return make_pointwise(descriptor);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return make_reduction(descriptor);
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
      return make_norm_forward(descriptor);
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
      return make_norm_backward(descriptor);
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
      return make_gen_stats(descriptor);
    case CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR:
      return make_bn_finalize(descriptor);
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR:
      return make_resample(descriptor);
    default:
      throw Refusal(CUDNN_STATUS_NOT_SUPPORTED,
                    name_of(descriptor.type) + " is no operation that the stand-in knows");
  }
}

}  // namespace rueda::standin
