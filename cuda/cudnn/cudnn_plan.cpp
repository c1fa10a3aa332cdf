#include "cudnn_plan.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace rueda::cuda {
namespace {

std::vector<Descriptor> configs_by(cudnnBackendHeurMode_t mode, const CudnnTarget& target,
                                   const Descriptor& graph) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
#if CUDNN_VERSION >= 90800
  if (target.properties != nullptr) {
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties);
  }
#endif
  if (!heuristics.try_finalize()) return {};
  constexpr std::size_t kMost = 100;
  return heuristics.get_descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                    CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMost);
}

bool allowed(const Descriptor& engine, const PlanLimits& limits) {
  const auto notes = engine.get_all<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
  const auto has = [&](cudnnBackendNumericalNote_t note) {
    return std::ranges::find(notes, note) != notes.end();
  };
  if (has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return false;
  if (has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return false;
  if (!limits.tensor_cores && has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) return false;
  return !limits.deterministic || !has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
}

std::string name_of(const Descriptor& config, const Descriptor& engine) {
  std::string choices;
  for (const Descriptor& knob : config.get_descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                                       CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, 64)) {
    const auto type = knob.get_one<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
    const auto value = knob.get_one<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
    choices += fmt::format("{}k{}={}", choices.empty() ? "" : ",", int(type), value);
  }
  return fmt::format("eng{}{{{}}}", engine.get_one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX),
                     choices);
}

std::optional<CudnnPlan> compile(const CudnnTarget& target, Descriptor config, std::string engine) {
  CudnnPlan made{Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), std::move(config),
                 std::move(engine), 0};
  made.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, made.config);
  if (target.handle != nullptr) made.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target.handle);
#if CUDNN_VERSION >= 90800
  if (target.properties != nullptr) {
    made.plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties);
  }
#endif
  if (!made.plan.try_finalize()) return std::nullopt;
  made.workspace_bytes =
      std::size_t(made.plan.get_one<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  return made;
}

}  // namespace

std::vector<CudnnPlan> make_plans(const CudnnTarget& target, const Descriptor& graph,
                                  const PlanLimits& limits, const std::string& only) {
  std::vector<CudnnPlan> plans;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor& config : configs_by(mode, target, graph)) {
      if (plans.size() == limits.most) return plans;
      const Descriptor engine =
          config.get_descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      if (!allowed(engine, limits)) continue;
      std::string name = name_of(config, engine);
      if (!only.empty() && name != only) continue;
      if (auto plan = compile(target, std::move(config), std::move(name)))
        plans.push_back(*std::move(plan));
    }
  }
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
