#include "engines.hpp"

#include <atomic>

#include "plan.hpp"
#include "tests/standin/runtime/settings.hpp"
#include "tests/standin/standin.hpp"

namespace rueda {
namespace standin {
namespace {

/// Engine 0 uses tensor cores; 1 is not deterministic and compiled at run time; 2 is the fallback.
constexpr std::int64_t kEngines = 3;
constexpr auto kKnob = CUDNN_KNOB_TYPE_TILE_SIZE;

std::atomic<bool>& single_operation() {
  static std::atomic<bool> only{setting("RUEDA_STANDIN_SINGLE_OPERATION", 0) != 0};
  return only;
}

template <typename T>
Value value_of(cudnnBackendAttributeType_t type, const std::vector<T>& elements) {
  Descriptor holder{CUDNN_BACKEND_TENSOR_DESCRIPTOR, true, {}, nullptr};
  holder.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, type, elements);
  return holder.values.begin()->second;
}

Value children_of(std::vector<DescriptorPtr> children) {
  return {CUDNN_TYPE_BACKEND_DESCRIPTOR,
          static_cast<std::int64_t>(children.size()),
          {},
          std::move(children)};
}

std::shared_ptr<Descriptor> make(cudnnBackendDescriptorType_t type) {
  return std::make_shared<Descriptor>(Descriptor{type, true, {}, nullptr});
}

DescriptorPtr make_config(const DescriptorPtr& graph, std::int64_t index) {
  const auto engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine->set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, {graph});
  engine->set<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, {index});
  const auto knob = make(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
  knob->set<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
                                    {kKnob});
  knob->set<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, {index + 1});
  const auto config = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  config->set(CUDNN_ATTR_ENGINECFG_ENGINE, {engine});
  config->set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, {knob});
  return config;
}

Value heuristic_results(const Descriptor& heuristics) {
  const auto mode = heuristics.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  const std::int64_t count = mode == CUDNN_HEUR_MODE_FALLBACK ? kEngines : kEngines - 1;
  std::vector<DescriptorPtr> configs;
  for (std::int64_t i = 0; i < count; ++i) {
    configs.push_back(make_config(heuristics.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH), i));
  }
  return children_of(std::move(configs));
}

Value numerical_notes(std::int64_t engine) {
  std::vector<cudnnBackendNumericalNote_t> notes;
  if (engine <= 1) notes.push_back(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  if (engine == 1) notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  return value_of(CUDNN_TYPE_NUMERICAL_NOTE, notes);
}

Value behavior_notes(std::int64_t engine) {
  std::vector<cudnnBackendBehaviorNote_t> notes;
  if (engine == 1) notes.push_back(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
  return value_of(CUDNN_TYPE_BEHAVIOR_NOTE, notes);
}

Value knob_info() {
  const auto info = make(CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR);
  info->set<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_INFO_TYPE, CUDNN_TYPE_KNOB_TYPE, {kKnob});
  info->set<std::int64_t>(CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE, CUDNN_TYPE_INT64, {0});
  info->set<std::int64_t>(CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE, CUDNN_TYPE_INT64, {kEngines});
  info->set<std::int64_t>(CUDNN_ATTR_KNOB_INFO_STRIDE, CUDNN_TYPE_INT64, {1});
  return children_of({info});
}

Value json_of(const Descriptor& plan) {
  const std::string text = plan_to_json(*plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
  return value_of(CUDNN_TYPE_CHAR, std::vector<char>(text.begin(), text.end()));
}

Value integer(std::int64_t value) { return value_of<std::int64_t>(CUDNN_TYPE_INT64, {value}); }

}  // namespace

void check_engine(const Descriptor& graph, std::int64_t index) {
  const auto& operations = graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors;
  require(!single_operation() || operations.size() == 1,
          "no engine offers this pattern (RUEDA_STANDIN_SINGLE_OPERATION)",
          CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
  require(index >= 0 && index < kEngines, "there is no engine " + std::to_string(index),
          CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND);
}

std::optional<Value> derived_value(const Descriptor& d, cudnnBackendAttributeName_t name) {
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      return heuristic_results(d);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      return numerical_notes(d.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
      return behavior_notes(d.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
    case CUDNN_ATTR_ENGINE_KNOB_INFO:
      return knob_info();
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      return integer(kEngines);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return integer(static_cast<std::int64_t>(d.plan->workspace_bytes()));
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION:
      return json_of(d);
    default:
      return std::nullopt;
  }
}

}  // namespace standin

void standin_single_operation(bool only) { standin::single_operation() = only; }

}  // namespace rueda
