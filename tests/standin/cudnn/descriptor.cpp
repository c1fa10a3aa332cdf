#include "graph.hpp"

// The types of descriptors, and what attributes each has.

namespace rueda::standin {
namespace {

constexpr auto kChild = CUDNN_TYPE_BACKEND_DESCRIPTOR;
constexpr auto kInteger = CUDNN_TYPE_INT64;
constexpr auto kDataType = CUDNN_TYPE_DATA_TYPE;

struct Rule {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  bool required = true;
};

struct Kind {
  std::string name;
  std::vector<Rule> rules = {};
};

using Kinds = std::map<cudnnBackendDescriptorType_t, Kind>;

Kinds with_convolutions(Kinds kinds) {
  for (const ConvDirection& d : kConvDirections) {
    kinds[d.type] = {d.name,
                     {{d.alpha, CUDNN_TYPE_FLOAT},
                      {d.beta, CUDNN_TYPE_FLOAT},
                      {d.conv, kChild},
                      {d.w, kChild},
                      {d.x, kChild},
                      {d.y, kChild}}};
  }
  return kinds;
}

// Those without attributes are made by the stand-in alone.
const Kinds kKinds = with_convolutions({
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR,
     {"TENSOR",
      {{CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kInteger},
       {CUDNN_ATTR_TENSOR_DATA_TYPE, kDataType},
       {CUDNN_ATTR_TENSOR_DIMENSIONS, kInteger},
       {CUDNN_ATTR_TENSOR_STRIDES, kInteger},
       {CUDNN_ATTR_TENSOR_UNIQUE_ID, kInteger},
       {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, false}}}},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
     {"CONVOLUTION",
      {{CUDNN_ATTR_CONVOLUTION_COMP_TYPE, kDataType},
       {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE},
       {CUDNN_ATTR_CONVOLUTION_DILATIONS, kInteger},
       {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, kInteger},
       {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, kInteger},
       {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, kInteger},
       {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, kInteger}}}},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
     {"POINTWISE",
      {{CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE},
       {CUDNN_ATTR_POINTWISE_MATH_PREC, kDataType}}}},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
     {"OPERATION_POINTWISE",
      {{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kChild},
       {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, kChild},
       {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, kChild},
       {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, kChild}}}},
    {CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR,
     {"OPERATION_GEN_STATS",
      {{CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE},
       {CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, kDataType},
       {CUDNN_ATTR_OPERATION_GENSTATS_XDESC, kChild},
       {CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, kChild},
       {CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, kChild}}}},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
     {"OPERATIONGRAPH",
      {{CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE},
       {CUDNN_ATTR_OPERATIONGRAPH_OPS, kChild}}}},
    {CUDNN_BACKEND_ENGINE_DESCRIPTOR, {"ENGINE"}},
    {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, {"ENGINECFG"}},
    {CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, {"KNOB_CHOICE"}},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
     {"ENGINEHEUR",
      {{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, kChild},
       {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE}}}},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
     {"EXECUTION_PLAN",
      {{CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE},
       {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, kChild, false},
       {CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, false}}}},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
     {"VARIANT_PACK",
      {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kInteger},
       {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR},
       {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, false}}}},
});

const std::vector<Rule>& rules_of(cudnnBackendDescriptorType_t type) {
  const auto found = kKinds.find(type);
  require(found != kKinds.end(), name_of(type) + " is not known to the stand-in",
          CUDNN_STATUS_NOT_SUPPORTED);
  return found->second.rules;
}

}  // namespace

Value::Value(cudnnBackendAttributeType_t type_, std::int64_t count_, const void* elements)
    : type(type_), count(count_) {
  const auto* first = static_cast<const std::byte*>(elements);
  bytes.assign(first, first + std::size_t(count) * element_bytes(type));
}

DescriptorPtr Descriptor::child(cudnnBackendAttributeName_t name,
                                cudnnBackendDescriptorType_t wanted) const {
  const auto found = values.find(name);
  const bool given = found != values.end() && !found->second.descriptors.empty();
  require(given, name_of(type) + " lacks attribute " + std::to_string(name));
  const DescriptorPtr& result = found->second.descriptors[0];
  require(result->type == wanted,
          name_of(type) + ": " + name_of(result->type) + " given for " + name_of(wanted));
  return result;
}

std::size_t element_bytes(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    case CUDNN_TYPE_INT64:
      return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    default:
      return 4;  // float and enumerations
  }
}

std::string name_of(cudnnBackendDescriptorType_t type) {
  const auto found = kKinds.find(type);
  return found != kKinds.end() ? found->second.name : "descriptor of type " + std::to_string(type);
}

void check_attribute(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name,
                     cudnnBackendAttributeType_t type) {
  for (const Rule& rule : rules_of(descriptor)) {
    if (rule.name != name) continue;
    require(rule.type == type, name_of(descriptor) + ": attribute " + std::to_string(name) +
                                   " was given in type " + std::to_string(type) + " instead of " +
                                   std::to_string(rule.type));
    return;
  }
  throw Refusal(CUDNN_STATUS_BAD_PARAM,
                name_of(descriptor) + " has no attribute " + std::to_string(name));
}

void check_complete(const Descriptor& descriptor) {
  for (const Rule& rule : rules_of(descriptor.type)) {
    require(!rule.required || descriptor.values.count(rule.name) != 0,
            name_of(descriptor.type) + " lacks attribute " + std::to_string(rule.name));
  }
}

}  // namespace rueda::standin
