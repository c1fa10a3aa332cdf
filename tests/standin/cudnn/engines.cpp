#include <atomic>

#include "graph.hpp"
#include "tests/standin/runtime/device.hpp"
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

std::shared_ptr<Descriptor> make(cudnnBackendDescriptorType_t type) {
  return std::make_shared<Descriptor>(Descriptor{.type = type, .finalized = true});
}

Value integer(std::int64_t value) { return {CUDNN_TYPE_INT64, std::vector{value}}; }

DescriptorPtr make_config(const DescriptorPtr& graph, std::int64_t index) {
  const auto engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine->values[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = Value({graph});
  engine->values[CUDNN_ATTR_ENGINE_GLOBAL_INDEX] = integer(index);
  const auto knob = make(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
  knob->values[CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE] = {CUDNN_TYPE_KNOB_TYPE, std::vector{kKnob}};
  knob->values[CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE] = integer(index + 1);
  const auto config = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  config->values[CUDNN_ATTR_ENGINECFG_ENGINE] = Value({engine});
  config->values[CUDNN_ATTR_ENGINECFG_KNOB_CHOICES] = Value({knob});
  return config;
}

Value heuristic_results(const Descriptor& heuristics) {
  const auto mode = heuristics.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  const auto graph = heuristics.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                                      CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  const std::int64_t count = mode == CUDNN_HEUR_MODE_FALLBACK ? kEngines : kEngines - 1;
  std::vector<DescriptorPtr> configs;
  for (std::int64_t i = 0; i < count; ++i) configs.push_back(make_config(graph, i));
  return Value(std::move(configs));
}

Value numerical_notes(std::int64_t engine) {
  std::vector<cudnnBackendNumericalNote_t> notes;
  if (engine <= 1) notes.push_back(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  if (engine == 1) notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  return {CUDNN_TYPE_NUMERICAL_NOTE, notes};
}

}  // namespace

void check_pattern(const Descriptor& graph) {
  require(!single_operation() || graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).count == 1,
          "no engine offers this pattern (RUEDA_STANDIN_SINGLE_OPERATION)",
          CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
}

Value value_of(const Descriptor& d, cudnnBackendAttributeName_t name) {
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      return heuristic_results(d);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      return numerical_notes(d.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return integer(static_cast<std::int64_t>(d.plan->workspace_bytes()));
    default:
      const auto found = d.values.find(name);
      return found == d.values.end() ? Value{} : found->second;
  }
}

}  // namespace standin

void standin_single_operation(bool only) { standin::single_operation() = only; }

}  // namespace rueda
