#include <algorithm>
#include <cstring>
#include <set>

#include "graph.hpp"
#include "tests/standin/runtime/device.hpp"
#include "tests/standin/runtime/memory.hpp"

namespace rueda::standin {
namespace {

constexpr std::size_t kWorkspacePerEngine = 1024;
constexpr int kScribble = 0x5A;

using Ids = std::set<std::int64_t>;

Ids ids_written(const std::vector<Operation>& operations) {
  Ids ids;
  for (const Operation& operation : operations) {
    for (const TensorSpec& tensor : operation.writes) {
      require(ids.insert(tensor.id).second,
              "two operations write tensor " + std::to_string(tensor.id),
              CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
    }
  }
  return ids;
}

/// Whether what the operation reads is there, or comes from outside the graph.
bool is_ready(const Operation& operation, const Ids& left) {
  return std::none_of(operation.reads.begin(), operation.reads.end(),
                      [&](const TensorSpec& tensor) { return left.count(tensor.id) != 0; });
}

bool same(const TensorSpec& a, const TensorSpec& b) {
  return a.type == b.type && a.dims == b.dims && a.strides == b.strides &&
         a.is_virtual == b.is_virtual;
}

std::map<std::int64_t, TensorSpec> tensors_of(const std::vector<Operation>& operations) {
  std::map<std::int64_t, TensorSpec> tensors;
  const Ids written = ids_written(operations);
  const auto add = [&](const TensorSpec& tensor) {
    const auto [known, is_new] = tensors.emplace(tensor.id, tensor);
    require(is_new || same(known->second, tensor),
            "tensor " + std::to_string(tensor.id) + " is described in two ways",
            CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
    require(!tensor.is_virtual || written.count(tensor.id) != 0,
            "no operation makes the virtual tensor " + std::to_string(tensor.id));
  };
  for (const Operation& operation : operations) {
    std::for_each(operation.reads.begin(), operation.reads.end(), add);
    std::for_each(operation.writes.begin(), operation.writes.end(), add);
  }
  return tensors;
}

void check_pointer(const TensorSpec& tensor, const void* pointer) {
  const std::string name = "tensor " + std::to_string(tensor.id);
  require(pointer != nullptr, name + " has a null pointer", CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  require(
      reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(tensor.alignment) ==
          0,
      name + " is not aligned as it was said to be", CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  require(is_device_range(pointer, extent_bytes(tensor)),
          name + " does not lie wholly in memory of the device");
}

/// Engine 0 uses tensor cores; 1 is not deterministic and compiled at run time; 2 is the fallback.
constexpr std::int64_t kEngines = 3;
constexpr auto kKnob = CUDNN_KNOB_TYPE_TILE_SIZE;

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

std::vector<Operation> operations_in_order(const Descriptor& graph) {
  std::vector<Operation> waiting;
  for (const auto& operation : graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors) {
    waiting.push_back(make_operation(*operation));
  }
  Ids left = ids_written(waiting);
  std::vector<Operation> ordered;
  while (!waiting.empty()) {
    const auto next = std::find_if(waiting.begin(), waiting.end(),
                                   [&](const Operation& o) { return is_ready(o, left); });
    require(next != waiting.end(), "the operations of a graph wait for each other");
    for (const TensorSpec& tensor : next->writes) left.erase(tensor.id);
    ordered.push_back(std::move(*next));
    waiting.erase(next);
  }
  static_cast<void>(tensors_of(ordered));
  return ordered;
}

Plan::Plan(const Descriptor& engine_config) {
  const auto engine =
      engine_config.child(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  const auto graph =
      engine->child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  operations_ = std::make_shared<const std::vector<Operation>>(operations_in_order(*graph));
  tensors_ = tensors_of(*operations_);
  engine_ = engine->one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
}

std::size_t Plan::workspace_bytes() const { return kWorkspacePerEngine * std::size_t(engine_); }

std::function<void()> Plan::bind(const Bindings::Pointers& pointers, void* workspace) const {
  Bindings bindings(pointers);
  for (const auto& [id, tensor] : tensors_) {
    if (tensor.is_virtual) continue;
    const auto found = pointers.find(id);
    require(found != pointers.end(), "tensor " + std::to_string(id) + " is not in the pack");
    check_pointer(tensor, found->second);
  }
  const std::size_t bytes = workspace_bytes();
  require(bytes == 0 || is_device_range(workspace, bytes),
          "the workspace is no device memory of " + std::to_string(bytes) + " bytes");
  return [=, operations = operations_] {
    if (bytes != 0) std::memset(workspace, kScribble, bytes);
    Bindings own = bindings;  // a captured graph runs this many times
    for (const Operation& operation : *operations) operation.run(own);
    if (bytes != 0) std::memset(workspace, ~kScribble, bytes);
  };
}

void check_pattern(const Descriptor& graph) {
  static const bool single_operation = setting("RUEDA_STANDIN_SINGLE_OPERATION", 0) != 0;
  require(!single_operation || graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).count == 1,
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
      return integer(std::int64_t(d.plan->workspace_bytes()));
    default:
      const auto found = d.values.find(name);
      return found == d.values.end() ? Value{} : found->second;
  }
}

}  // namespace rueda::standin
