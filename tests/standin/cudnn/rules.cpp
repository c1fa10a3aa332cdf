#include <map>

#include "descriptor.hpp"

// What attributes each type of descriptor has.

namespace rueda::standin {
namespace {

struct Rule {
  cudnnBackendAttributeName_t name;
  bool required;
  cudnnBackendAttributeType_t type;
  cudnnBackendAttributeType_t or_type;

  static Rule need(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
    return {name, true, type, type};
  }
  static Rule may(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
    return {name, false, type, type};
  }
  Rule or_as(cudnnBackendAttributeType_t other) const { return {name, required, type, other}; }
};

using Rules = std::vector<Rule>;
constexpr auto kTensor = CUDNN_TYPE_BACKEND_DESCRIPTOR;

Rules conv_rules() {
  return {Rule::need(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE),
          Rule::need(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE),
          Rule::need(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64),
          Rule::need(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64),
          Rule::need(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64),
          Rule::need(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64),
          Rule::need(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64)};
}

/// The six attributes of a convolution in one of its directions.
Rules conv_operation(cudnnBackendAttributeName_t alpha, cudnnBackendAttributeName_t beta,
                     cudnnBackendAttributeName_t conv, cudnnBackendAttributeName_t w,
                     cudnnBackendAttributeName_t x, cudnnBackendAttributeName_t y) {
  return {Rule::need(alpha, CUDNN_TYPE_FLOAT).or_as(CUDNN_TYPE_DOUBLE),
          Rule::need(beta, CUDNN_TYPE_FLOAT).or_as(CUDNN_TYPE_DOUBLE),
          Rule::need(conv, kTensor),
          Rule::need(w, kTensor),
          Rule::need(x, kTensor),
          Rule::need(y, kTensor)};
}

Rules tensor_rules() {
  return {Rule::need(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64),
          Rule::need(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE),
          Rule::need(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64),
          Rule::need(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64),
          Rule::need(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64),
          Rule::may(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN),
          Rule::may(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN),
          Rule::may(CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TYPE_TENSOR_REORDERING_MODE)};
}

Rules pointwise_rules() {
  Rules rules = {Rule::need(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE),
                 Rule::need(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE),
                 Rule::may(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64)};
  for (const auto name :
       {CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP,
        CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE}) {
    rules.push_back(Rule::may(name, CUDNN_TYPE_FLOAT).or_as(CUDNN_TYPE_DOUBLE));
  }
  return rules;
}

Rules pointwise_operation() {
  Rules rules = {Rule::need(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kTensor)};
  for (const auto name :
       {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_ATTR_OPERATION_POINTWISE_TDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC}) {
    rules.push_back(Rule::may(name, kTensor));
  }
  for (const auto name :
       {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2}) {
    rules.push_back(Rule::may(name, CUDNN_TYPE_FLOAT).or_as(CUDNN_TYPE_DOUBLE));
  }
  return rules;
}

Rules norm_forward() {
  Rules rules = {Rule::need(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE),
                 Rule::need(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE),
                 Rule::need(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, kTensor),
                 Rule::need(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, kTensor),
                 Rule::need(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, kTensor),
                 Rule::need(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, kTensor)};
  for (const auto name :
       {CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC,
        CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC,
        CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC,
        CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC,
        CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC,
        CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC,
        CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC}) {
    rules.push_back(Rule::may(name, kTensor));
  }
  return rules;
}

Rules norm_backward() {
  return {Rule::need(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE),
          Rule::need(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, kTensor),
          Rule::need(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, kTensor),
          Rule::need(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, kTensor),
          Rule::need(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, kTensor),
          Rule::need(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, kTensor),
          Rule::need(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, kTensor),
          Rule::may(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, kTensor),
          Rule::may(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, kTensor),
          Rule::may(CUDNN_ATTR_OPERATION_NORM_BWD_EPSILON_DESC, kTensor)};
}

Rules reduction_operation() {
  return {Rule::need(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, kTensor),
          Rule::need(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, kTensor),
          Rule::need(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kTensor)};
}

Rules reduction_rules() {
  return {Rule::need(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE),
          Rule::need(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE)};
}

Rules gen_stats() {
  return {Rule::need(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE),
          Rule::need(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE),
          Rule::need(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, kTensor),
          Rule::need(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, kTensor),
          Rule::need(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, kTensor)};
}

Rules bn_finalize() {
  Rules rules = {
      Rule::need(CUDNN_ATTR_OPERATION_BN_FINALIZE_STATS_MODE, CUDNN_TYPE_BN_FINALIZE_STATS_MODE),
      Rule::need(CUDNN_ATTR_OPERATION_BN_FINALIZE_MATH_PREC, CUDNN_TYPE_DATA_TYPE)};
  for (int name = CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SUM_DESC;
       name <= CUDNN_ATTR_OPERATION_BN_FINALIZE_EXP_AVERATE_FACTOR_DESC; ++name) {
    rules.push_back(Rule::may(static_cast<cudnnBackendAttributeName_t>(name), kTensor));
  }
  return rules;
}

Rules resample_rules() {
  Rules rules = {Rule::need(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE),
                 Rule::need(CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_TYPE_DATA_TYPE),
                 Rule::need(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, CUDNN_TYPE_INT64),
                 Rule::may(CUDNN_ATTR_RESAMPLE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION),
                 Rule::may(CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE)};
  for (const auto name : {CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, CUDNN_ATTR_RESAMPLE_POST_PADDINGS,
                          CUDNN_ATTR_RESAMPLE_STRIDES, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS}) {
    rules.push_back(Rule::need(name, CUDNN_TYPE_INT64).or_as(CUDNN_TYPE_FRACTION));
  }
  return rules;
}

/// Both directions of pooling: the gradient has those of the forward direction under other names.
Rules resample_operation(cudnnBackendAttributeName_t desc, cudnnBackendAttributeName_t from,
                         cudnnBackendAttributeName_t to, cudnnBackendAttributeName_t indices) {
  return {Rule::need(desc, kTensor),
          Rule::need(from, kTensor),
          Rule::need(to, kTensor),
          Rule::may(indices, kTensor),
          Rule::may(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_XDESC, kTensor),
          Rule::may(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_YDESC, kTensor)};
}

using Table = std::map<cudnnBackendDescriptorType_t, Rules>;

void add_operations(Table& table) {
  table[CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR] = conv_operation(
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  table[CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR] = conv_operation(
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
  table[CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR] = conv_operation(
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
  table[CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR] = pointwise_operation();
  table[CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR] = reduction_operation();
  table[CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR] = norm_forward();
  table[CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR] = norm_backward();
  table[CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR] = gen_stats();
  table[CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR] = bn_finalize();
  table[CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR] = resample_operation(
      CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC,
      CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC);
  table[CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR] = resample_operation(
      CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC,
      CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC);
}

void add_engines(Table& table) {
  table[CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR] = {
      Rule::need(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE),
      Rule::need(CUDNN_ATTR_OPERATIONGRAPH_OPS, kTensor)};
  table[CUDNN_BACKEND_ENGINE_DESCRIPTOR] = {
      Rule::need(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, kTensor),
      Rule::need(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64)};
  table[CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR] = {
      Rule::need(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE),
      Rule::need(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64)};
  table[CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR] = {};
  table[CUDNN_BACKEND_ENGINECFG_DESCRIPTOR] = {
      Rule::need(CUDNN_ATTR_ENGINECFG_ENGINE, kTensor),
      Rule::may(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, kTensor)};
  table[CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR] = {
      Rule::need(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, kTensor),
      Rule::need(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE)};
  table[CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR] = {
      Rule::need(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE),
      Rule::may(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, kTensor),
      Rule::may(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR)};
  table[CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR] = {
      Rule::need(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64),
      Rule::need(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR),
      Rule::may(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR)};
}

Table make_table() {
  Table table;
  table[CUDNN_BACKEND_TENSOR_DESCRIPTOR] = tensor_rules();
  table[CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR] = conv_rules();
  table[CUDNN_BACKEND_POINTWISE_DESCRIPTOR] = pointwise_rules();
  table[CUDNN_BACKEND_REDUCTION_DESCRIPTOR] = reduction_rules();
  table[CUDNN_BACKEND_RESAMPLE_DESCRIPTOR] = resample_rules();
  add_operations(table);
  add_engines(table);
  return table;
}

const Rules& rules_of(cudnnBackendDescriptorType_t type) {
  static const auto& table = *new Table(make_table());
  const auto found = table.find(type);
  require(found != table.end(), name_of(type) + " is not known to the stand-in",
          CUDNN_STATUS_NOT_SUPPORTED);
  return found->second;
}

}  // namespace

void check_attribute(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name,
                     cudnnBackendAttributeType_t type) {
  for (const Rule& rule : rules_of(descriptor)) {
    if (rule.name != name) continue;
    require(rule.type == type || rule.or_type == type,
            name_of(descriptor) + ": attribute " + std::to_string(name) + " was given in type " +
                std::to_string(type) + " instead of " + std::to_string(rule.type),
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
    return;
  }
  throw Refusal(CUDNN_STATUS_BAD_PARAM,
                name_of(descriptor) + " has no attribute " + std::to_string(name));
}

void check_complete(const Descriptor& descriptor) {
  for (const Rule& rule : rules_of(descriptor.type)) {
    require(!rule.required || descriptor.has(rule.name),
            name_of(descriptor.type) + " lacks attribute " + std::to_string(rule.name));
  }
}

}  // namespace rueda::standin
