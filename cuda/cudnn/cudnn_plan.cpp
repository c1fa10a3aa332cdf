#include "cuda/cudnn/cudnn_plan.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/ranges.h>

namespace rueda::cuda {
namespace {

/// Finalizes `made`, which `name` names. False if cuDNN cannot; an answer other
/// than "not supported" goes to `filter.failed`.
bool finalized(Descriptor& made, const std::string& name, const PlanFilter& filter) {
  const cudnnStatus_t status = cudnnBackendFinalize(made.get());
  if (status == CUDNN_STATUS_SUCCESS) return true;
  const bool unsupported =
      status >= CUDNN_STATUS_NOT_SUPPORTED && status < CUDNN_STATUS_INTERNAL_ERROR;
  if (!unsupported) filter.failed(name, cudnn_words(status));
  return false;
}

std::vector<Descriptor> configs_by(cudnnBackendHeurMode_t mode, const CudnnTarget& target,
                                   const Descriptor& graph, const PlanFilter& filter) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
#if CUDNN_VERSION >= 90800
  if (target.properties != nullptr)
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties);
#endif
  if (!finalized(heuristics, "heuristics", filter)) return {};
  constexpr std::size_t kMost = 100;
  return heuristics.get_descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                    CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMost);
}

bool allowed(const Descriptor& engine, const PlanLimits& limits, bool tensor_cores) {
  const auto notes = engine.get_all<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
  const auto has = [&](cudnnBackendNumericalNote_t note) {
    return std::ranges::find(notes, note) != notes.end();
  };
  if (has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return false;
  if (has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return false;
  if (has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) != tensor_cores) return false;
  return !limits.deterministic || !has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
}

std::string name_of(const Descriptor& config, const Descriptor& engine) {
  std::vector<std::string> choices;
  for (const Descriptor& knob : config.get_descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                                       CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, 64)) {
    const auto type = knob.get_one<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
    const auto value = knob.get_one<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
    choices.push_back(fmt::format("k{}={}", int(type), value));
  }
  return fmt::format("eng{}{{{}}}", engine.get_one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX),
                     fmt::join(choices, ","));
}

Descriptor plan_for(const CudnnTarget& target) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (target.handle != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target.handle);
#if CUDNN_VERSION >= 90800
  if (target.properties != nullptr)
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties);
#endif
  return plan;
}

void measure_workspace(CudnnPlan& plan) {
  plan.workspace_bytes =
      std::size_t(plan.plan.get_one<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
}

/// Empty if cuDNN cannot.
std::optional<CudnnPlan> made_of(const CudnnTarget& target, Descriptor config, std::string engine,
                                 const PlanFilter& filter) {
  CudnnPlan made{plan_for(target), std::move(config), std::move(engine)};
  const bool slow = compiled_at_run_time(made);
  if (slow && filter.restore(made)) {
    measure_workspace(made);
    return made;
  }
  made.put_off = slow && filter.puts_off;
  if (!made.put_off && !compile(target, made, filter)) return std::nullopt;
  return made;
}

/// Adds plans of engines with tensor cores, or of those without.
void add_plans(std::vector<CudnnPlan>& plans, bool tensor_cores, const CudnnTarget& target,
               const Descriptor& graph, const PlanLimits& limits, const PlanFilter& filter) {
  std::map<std::int64_t, std::set<std::string>> seen;  // by engine
  std::set<std::int64_t> works;  // the fallback repeats these engines, with their default tile
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor& config : configs_by(mode, target, graph, filter)) {
      if (plans.size() == limits.most) return;
      const Descriptor engine =
          config.get_descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      if (!allowed(engine, limits, tensor_cores)) continue;
      std::string name = name_of(config, engine);
      if (!filter.wanted(name)) continue;
      const auto number = engine.get_one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
      if (mode == CUDNN_HEUR_MODE_FALLBACK && works.contains(number)) continue;
      auto& of_engine = seen[number];
      if (of_engine.size() == limits.most_of_engine || !of_engine.insert(name).second) continue;
      auto plan = made_of(target, std::move(config), std::move(name), filter);
      if (!plan || !filter.works(*plan)) continue;
      works.insert(number);
      plans.push_back(*std::move(plan));
    }
  }
}

}  // namespace

bool compiled_at_run_time(const CudnnPlan& plan) {
  const auto notes =
      plan.config.get_descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR)
          .get_all<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE);
  return std::ranges::find(notes, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) != notes.end();
}

bool compile(const CudnnTarget& target, CudnnPlan& plan, const PlanFilter& filter) {
  plan.plan = plan_for(target);
  plan.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, plan.config);
  if (!finalized(plan.plan, plan.engine, filter)) return false;
  plan.put_off = false;
  measure_workspace(plan);
  if (compiled_at_run_time(plan)) filter.keep(plan);
  return true;
}

std::vector<CudnnPlan> make_plans(const CudnnTarget& target, const Descriptor& graph,
                                  const PlanLimits& limits, const PlanFilter& filter) {
  std::vector<CudnnPlan> plans;
  if (limits.tensor_cores) add_plans(plans, true, target, graph, limits, filter);
  if (plans.empty()) add_plans(plans, false, target, graph, limits, filter);
  return plans;
}

Descriptor bind_tensors(const std::vector<std::pair<CudnnGraph::Tensor, void*>>& tensors,
                        void* workspace) {
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
  for (const auto& [id, pointer] : tensors) {
    ids.push_back(id);
    pointers.push_back(pointer);
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const std::int64_t>(ids));
  pack.set_pointers(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers);
  pack.set_pointers(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, std::span<void* const>(&workspace, 1));
  pack.finalize();
  return pack;
}

}  // namespace rueda::cuda
