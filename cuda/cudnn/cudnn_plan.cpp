#include "cudnn_plan.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "rueda/core/error.hpp"

namespace rueda::cuda {
namespace {

constexpr int kWarmUps = 2;
constexpr std::size_t kTimes = 7;
/// Every byte of the operands: small positive numbers as fp32 and as bf16, so
/// that no sum overflows and no multiplier idles on zeros.
constexpr int kFill = 0x3c;

std::size_t bytes_of(const TensorSpec& spec) {
  return spec.elements() * (spec.type == CUDNN_DATA_BFLOAT16 ? 2 : 4);
}

/// Seconds of one execution of `plan`, which was made for `graph`, on memory of
/// its own: the median of several after a warm-up.
double time_plan(cudnnHandle_t cudnn, cudaStream_t stream, const CudnnPlan& plan,
                 const CudnnGraph& graph) {
  std::vector<DeviceMemory> memory;
  std::vector<std::pair<CudnnGraph::Tensor, void*>> tensors;
  for (const auto& [id, spec] : graph.in_memory()) {
    void* tensor = memory.emplace_back(make_device_memory(bytes_of(spec))).get();
    check(cudaMemsetAsync(tensor, kFill, bytes_of(spec), stream), "cudaMemsetAsync");
    tensors.emplace_back(id, tensor);
  }
  memory.push_back(make_device_memory(plan.workspace_bytes));
  const Descriptor pack = bind_tensors(tensors, memory.back().get());
  const auto run = [&] {
    check(cudnnBackendExecute(cudnn, plan.plan.get(), pack.get()), "cudnnBackendExecute");
  };
  for (int i = 0; i < kWarmUps; ++i) run();
  const Event begin = make_timing_event();
  const Event end = make_timing_event();
  std::array<double, kTimes> seconds{};
  for (double& s : seconds) {
    check(cudaEventRecord(begin.get(), stream), "cudaEventRecord");
    run();
    check(cudaEventRecord(end.get(), stream), "cudaEventRecord");
    check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    s = seconds_between(begin.get(), end.get());
  }
  std::ranges::nth_element(seconds, seconds.begin() + kTimes / 2);
  return seconds[kTimes / 2];
}

std::vector<Descriptor> configs_by(cudnnBackendHeurMode_t mode, const CudnnTarget& target,
                                   const Descriptor& graph) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
#if CUDNN_VERSION >= 90800
  if (target.properties != nullptr)
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties);
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
  if (target.properties != nullptr)
    made.plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties);
#endif
  if (!made.plan.try_finalize()) return std::nullopt;
  made.workspace_bytes =
      std::size_t(made.plan.get_one<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  return made;
}

}  // namespace

void PlanStore::use(EngineChoices chosen) {
  chosen_ = std::move(chosen);
  plans_.clear();
  engines_.clear();
}

const CudnnPlan* PlanStore::find(const std::string& key, const Build& build) {
  const auto known = plans_.find(key);
  if (known == plans_.end()) {
    Entry& made = plans_[key];
    build(made.graph);
    made.operations = made.graph.finish(target_);
    made.plan = make(key, made.graph, made.operations);
    if (made.plan.plan) engines_[key] = made.plan.engine;
  }
  const CudnnPlan& plan = plans_.at(key).plan;
  return plan.plan ? &plan : nullptr;
}

/// An empty plan if there is none.
CudnnPlan PlanStore::make(const std::string& key, const CudnnGraph& graph,
                          const Descriptor& operations) {
  PlanLimits limits = limits_;
  const auto chosen = chosen_.find(key);
  if (chosen != chosen_.end()) {
    limits.most = 1;
    auto plans = make_plans(target_, operations, limits, chosen->second);
    if (!plans.empty()) return std::move(plans.front());
    throw InputError(fmt::format(
        "the tuning file names engine {} for \"{}\", which this cuDNN does not offer here: tune "
        "again (--tune-engines), or leave out --tuning-file",
        chosen->second, key));
  }
  if (tuning_ == nullptr) limits.most = 1;
  auto plans = make_plans(target_, operations, limits);
  if (plans.empty()) return {};
  if (tuning_ == nullptr) return std::move(plans.front());
  std::vector<double> seconds;
  for (const CudnnPlan& plan : plans)
    seconds.push_back(time_plan(target_.handle, tuning_, plan, graph));
  const auto best = std::ranges::min_element(seconds) - seconds.begin();
  return std::move(plans[std::size_t(best)]);
}

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
