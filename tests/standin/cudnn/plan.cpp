#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "../runtime/runtime.hpp"
#include "graph.hpp"

namespace rueda::standin {
namespace {

constexpr std::size_t kWorkspacePerEngine = 1024;
constexpr int kScribble = 0x5A;

void check_pointer(const TensorSpec& tensor, const void* pointer) {
  const std::string name = "tensor " + std::to_string(tensor.id);
  require(pointer != nullptr, name + " has a null pointer");
  require(std::uintptr_t(pointer) % std::uintptr_t(tensor.alignment) == 0,
          name + " is not aligned as it was said to be");
  require(is_device_range(pointer, extent_bytes(tensor)),
          name + " does not lie wholly in memory of the device");
}

bool all_are(const void* memory, std::size_t bytes, int value) {
  const auto* begin = static_cast<const unsigned char*>(memory);
  return std::all_of(begin, begin + bytes, [&](unsigned char byte) { return byte == value; });
}

/// Somebody else wrote to the workspace meanwhile: what is computed is no number.
void spoil(const OperationGraph& graph, const Bindings::Pointers& pointers) {
  for (const Operation& operation : graph.operations)
    for (const TensorSpec& tensor : operation.writes)
      if (!tensor.is_virtual) std::memset(pointers.at(tensor.id), 0xFF, extent_bytes(tensor));
}

/// Engine 0 uses tensor cores, 1 is not deterministic, 2 is the fallback. The first two are
/// compiled at run time. Engine 0 sets its workspace up in a launch of its own. The fallback has
/// engine 1 once more, with its default tile, as cuDNN's does.
constexpr std::int64_t kEngines = 3;
constexpr std::size_t kAllEngines = 9;
constexpr auto kKnob = CUDNN_KNOB_TYPE_TILE_SIZE;

std::shared_ptr<Descriptor> make(cudnnBackendDescriptorType_t type) {
  return std::make_shared<Descriptor>(Descriptor{.type = type, .finalized = true});
}

Value integer(std::int64_t value) { return {CUDNN_TYPE_INT64, std::vector{value}}; }

DescriptorPtr make_config(const DescriptorPtr& graph, std::int64_t index, bool has_tile) {
  const auto engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine->values[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = Value({graph});
  engine->values[CUDNN_ATTR_ENGINE_GLOBAL_INDEX] = integer(index);
  const auto knob = make(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
  knob->values[CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE] = {CUDNN_TYPE_KNOB_TYPE, std::vector{kKnob}};
  knob->values[CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE] = integer(index + 1);
  const auto config = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  config->values[CUDNN_ATTR_ENGINECFG_ENGINE] = Value({engine});
  config->values[CUDNN_ATTR_ENGINECFG_KNOB_CHOICES] =
      Value(std::vector<DescriptorPtr>(std::size_t(has_tile), knob));
  return config;
}

Value heuristic_results(const Descriptor& heuristics) {
  const auto mode = heuristics.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  const auto graph = heuristics.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                                      CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  const bool falls_back = mode == CUDNN_HEUR_MODE_FALLBACK;
  const std::int64_t count = falls_back ? kEngines : kEngines - 1;
  std::vector<DescriptorPtr> configs;
  for (std::int64_t i = 0; i < count; ++i)
    configs.push_back(make_config(graph, i, i != 1 || !falls_back));
  return Value(std::move(configs));
}

Value numerical_notes(std::int64_t engine) {
  std::vector<cudnnBackendNumericalNote_t> notes;
  if (engine <= 1) notes.push_back(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  if (engine == 1) notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  return {CUDNN_TYPE_NUMERICAL_NOTE, notes};
}

Value behavior_notes(std::int64_t engine) {
  std::vector<cudnnBackendBehaviorNote_t> notes;
  if (engine <= 1) notes.push_back(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
  return {CUDNN_TYPE_BEHAVIOR_NOTE, notes};
}

Value text_of_plan(const Plan& plan) {
  const std::string text = text_of(plan.config());
  return {CUDNN_TYPE_CHAR, std::vector<char>(text.begin(), text.end())};
}

std::shared_ptr<const Plan> compile(const DescriptorPtr& config) {
  auto plan = std::make_shared<Plan>(config);
  const std::size_t fails = setting("RUEDA_STANDIN_NO_COMPILE", kEngines);
  require(fails != std::size_t(plan->engine()) && fails != kAllEngines, "RUEDA_STANDIN_NO_COMPILE",
          CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED);
  if (behavior_notes(plan->engine()).count != 0) ++compilations;
  return plan;
}

}  // namespace

std::shared_ptr<const Plan> make_plan(const Descriptor& d) {
  const auto text = d.all<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
  if (text.empty()) {
    return compile(
        d.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  }
  require(setting("RUEDA_STANDIN_NO_RESTORE", 0) == 0, "RUEDA_STANDIN_NO_RESTORE",
          CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
  return std::make_shared<Plan>(descriptor_in(std::string(text.begin(), text.end())));
}

OperationGraph::OperationGraph(const Descriptor& graph) {
  const auto add = [&](const TensorSpec& tensor, bool written) {
    const auto [known, is_new] = tensors.emplace(tensor.id, tensor);
    const std::string name = "tensor " + std::to_string(tensor.id);
    require(known->second == tensor, name + " is described in two ways");
    if (written) require(is_new, name + " is written when it is there already");
    if (!written && is_new) require(!tensor.is_virtual, "no operation before makes " + name);
  };
  for (const auto& operation : graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors) {
    operations.push_back(make_operation(*operation));
    for (const TensorSpec& tensor : operations.back().reads) add(tensor, false);
    for (const TensorSpec& tensor : operations.back().writes) add(tensor, true);
  }
}

Plan::Plan(DescriptorPtr engine_config) : config_(std::move(engine_config)) {
  const auto engine = config_->child(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  graph_ = std::make_shared<const OperationGraph>(
      *engine->child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  engine_ = engine->one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
}

std::size_t Plan::workspace_bytes() const { return kWorkspacePerEngine * std::size_t(engine_ + 1); }

std::vector<std::function<void()>> Plan::bind(const Bindings::Pointers& pointers,
                                              void* workspace) const {
  require(setting("RUEDA_STANDIN_NO_RUN", kEngines) != std::size_t(engine_), "RUEDA_STANDIN_NO_RUN",
          CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER);
  require(graph_->operations.size() == 1 || setting("RUEDA_STANDIN_NO_FUSED_RUN", 0) == 0,
          "RUEDA_STANDIN_NO_FUSED_RUN", CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER);
  Bindings bindings(pointers);
  for (const auto& [id, tensor] : graph_->tensors) {
    if (tensor.is_virtual) continue;
    const auto found = pointers.find(id);
    require(found != pointers.end(), "tensor " + std::to_string(id) + " is not in the pack");
    check_pointer(tensor, found->second);
  }
  const std::size_t bytes = workspace_bytes();
  require(bytes == 0 || is_device_range(workspace, bytes),
          "the workspace is no device memory of " + std::to_string(bytes) + " bytes");
  require(std::uintptr_t(workspace) % device_alignment() == 0, "the workspace is not aligned");
  const auto set_up = [=] { std::memset(workspace, kScribble, bytes); };
  const auto compute = [=, graph = graph_] {
    Bindings own = bindings;  // a captured graph runs this many times
    for (const Operation& operation : graph->operations) operation.run(own);
    if (!all_are(workspace, bytes, kScribble)) spoil(*graph, pointers);
    std::memset(workspace, ~kScribble, bytes);
  };
  if (bytes == 0) return {compute};
  if (engine_ == 0) return {set_up, compute};
  return {[=] {
    set_up();
    compute();
  }};
}

StandinLaunch Plan::launch() const {
  StandinLaunch launch{.name = graph_->operations.front().name};
  auto& bytes = launch.touched[0];
  std::set<std::int64_t> made;
  for (const Operation& operation : graph_->operations) {
    launch.flops += operation.flops;
    for (const TensorSpec& tensor : operation.reads)
      if (!tensor.is_virtual && made.insert(tensor.id).second) bytes.read += extent_bytes(tensor);
    for (const TensorSpec& tensor : operation.writes) {
      made.insert(tensor.id);
      if (!tensor.is_virtual) bytes.written += extent_bytes(tensor);
    }
  }
  return launch;
}

void check_pattern(const Descriptor& graph) {
  static const bool single_operation = setting("RUEDA_STANDIN_SINGLE_OPERATION", 0) != 0;
  require(!single_operation || graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).count == 1,
          "no engine offers this pattern (RUEDA_STANDIN_SINGLE_OPERATION)",
          CUDNN_STATUS_NOT_SUPPORTED);
}

Value value_of(const Descriptor& d, cudnnBackendAttributeName_t name) {
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      return heuristic_results(d);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      return numerical_notes(d.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
      return behavior_notes(d.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION:
      return text_of_plan(*d.plan);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return integer(std::int64_t(d.plan->workspace_bytes()));
    default:
      const auto found = d.values.find(name);
      return found == d.values.end() ? Value{} : found->second;
  }
}

std::int64_t count_for(cudnnBackendAttributeName_t name, const Value& value,
                       std::int64_t requested) {
  return name == CUDNN_ATTR_ENGINECFG_KNOB_CHOICES && requested == 0 ? 0 : value.count;
}

}  // namespace rueda::standin
