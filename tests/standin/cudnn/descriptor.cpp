#include "descriptor.hpp"

namespace rueda::standin {

double Descriptor::number(cudnnBackendAttributeName_t name, double otherwise) const {
  const auto found = values.find(name);
  if (found == values.end()) return otherwise;
  return found->second.type == CUDNN_TYPE_FLOAT ? static_cast<double>(one<float>(name))
                                                : one<double>(name);
}

std::vector<std::int64_t> Descriptor::integers(cudnnBackendAttributeName_t name) const {
  const auto found = values.find(name);
  if (found == values.end() || found->second.type != CUDNN_TYPE_FRACTION) {
    return all<std::int64_t>(name);
  }
  std::vector<std::int64_t> result;
  for (const auto& fraction : all<cudnnFraction_t>(name)) {
    require(fraction.denominator == 1, "only whole numbers are supported",
            CUDNN_STATUS_NOT_SUPPORTED);
    result.push_back(fraction.numerator);
  }
  return result;
}

DescriptorPtr Descriptor::child(cudnnBackendAttributeName_t name) const {
  const auto found = values.find(name);
  if (found == values.end() || found->second.descriptors.empty()) return nullptr;
  return found->second.descriptors[0];
}

void Descriptor::set(cudnnBackendAttributeName_t name, std::vector<DescriptorPtr> children) {
  Value& value = values[name];
  value = {CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(children.size()), {}, {}};
  value.descriptors = std::move(children);
}

std::size_t element_bytes(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
      return 8;
    case CUDNN_TYPE_FRACTION:
      return sizeof(cudnnFraction_t);
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    default:
      return 4;  // float, int32 and enumerations
  }
}

std::string name_of(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return "TENSOR";
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return "CONVOLUTION";
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      return "POINTWISE";
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
      return "REDUCTION";
    case CUDNN_BACKEND_RESAMPLE_DESCRIPTOR:
      return "RESAMPLE";
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return "OPERATION_CONVOLUTION_FORWARD";
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return "OPERATION_CONVOLUTION_BACKWARD_DATA";
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return "OPERATION_CONVOLUTION_BACKWARD_FILTER";
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return "OPERATION_POINTWISE";
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
      return "OPERATION_NORM_FORWARD";
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
      return "OPERATION_NORM_BACKWARD";
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return "OPERATION_REDUCTION";
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
      return "OPERATION_GEN_STATS";
    case CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR:
      return "OPERATION_BN_FINALIZE_STATISTICS";
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
      return "OPERATION_RESAMPLE_FWD";
    case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR:
      return "OPERATION_RESAMPLE_BWD";
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return "OPERATIONGRAPH";
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      return "ENGINE";
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      return "ENGINECFG";
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return "ENGINEHEUR";
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return "EXECUTION_PLAN";
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return "VARIANT_PACK";
    default:
      return "descriptor of type " + std::to_string(type);
  }
}

}  // namespace rueda::standin
