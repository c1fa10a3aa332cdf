#include "cudnn_plan.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "rueda/core/error.hpp"
#include "rueda/core/random.hpp"

namespace rueda::cuda {
namespace {

constexpr int kWarmUps = 2;
constexpr int kTimes = 7;
constexpr std::size_t kMostSets = 64;

std::size_t bytes_of(const TensorSpec& spec) {
  return spec.elements() * (spec.type == CUDNN_DATA_BFLOAT16 ? 2 : 4);
}

/// Random numbers of magnitude 0.5 to 1, as bf16; pairs of them are such
/// numbers as fp32. No sum overflows, and multipliers draw the power that they
/// draw in training.
std::vector<std::uint16_t> random_values() {
  std::vector<std::uint16_t> values(499'979);  // a prime: no two rows of a tensor are the same
  std::uint64_t n = 0;
  for (std::uint16_t& v : values) v = std::uint16_t((mix64(++n) & 0x807FU) | 0x3F00U);
  return values;
}

/// A plan's tensors with random contents, in several sets: together they are
/// larger than the device's cache, so no execution finds what one before it
/// left there.
class Operands {
 public:
  Operands(const CudnnGraph& graph, std::size_t workspace_bytes, cudaStream_t stream)
      : workspace_(make_device_memory(workspace_bytes)) {
    std::size_t bytes = 0;
    for (const auto& [id, spec] : graph.in_memory()) bytes += bytes_of(spec);
    const std::size_t sets = std::min(kMostSets, 2 * cache_bytes() / bytes + 1);
    for (std::size_t i = 0; i < sets; ++i) add_set(graph, stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

  const Descriptor& next() { return packs_[turn_++ % packs_.size()]; }

 private:
  static std::size_t cache_bytes() {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    return std::size_t(properties.l2CacheSize);
  }

  void add_set(const CudnnGraph& graph, cudaStream_t stream) {
    static const std::vector<std::uint16_t> values = random_values();
    constexpr std::size_t kValue = sizeof(std::uint16_t);
    std::vector<std::pair<CudnnGraph::Tensor, void*>> tensors;
    for (const auto& [id, spec] : graph.in_memory()) {
      auto* tensor =
          static_cast<std::byte*>(memory_.emplace_back(make_device_memory(bytes_of(spec))).get());
      for (std::size_t done = 0; done < bytes_of(spec); done += values.size() * kValue) {
        const std::size_t count = std::min(values.size() * kValue, bytes_of(spec) - done);
        queue_copy(tensor + done, values.data(), count, cudaMemcpyHostToDevice, stream);
      }
      tensors.emplace_back(id, tensor);
    }
    packs_.push_back(bind_tensors(tensors, workspace_.get()));
  }

  DeviceMemory workspace_;
  std::vector<DeviceMemory> memory_;
  std::vector<Descriptor> packs_;
  std::size_t turn_ = 0;
};

/// Seconds of one execution of `plan`, which was made for `graph`, on memory of
/// its own: the median of several after a warm-up.
double time_plan(cudnnHandle_t cudnn, const CudnnPlan& plan, const CudnnGraph& graph) {
  cudaStream_t stream = nullptr;
  check(cudnnGetStream(cudnn, &stream), "cudnnGetStream");
  Operands operands(graph, plan.workspace_bytes, stream);
  const auto run = [&] {
    check(cudnnBackendExecute(cudnn, plan.plan.get(), operands.next().get()),
          "cudnnBackendExecute");
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

std::optional<CudnnPlan> compile(const CudnnTarget& target, Descriptor config, std::string engine,
                                 const PlanFilter& filter) {
  CudnnPlan made{Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), std::move(config),
                 std::move(engine), 0};
  made.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, made.config);
  if (target.handle != nullptr) made.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target.handle);
#if CUDNN_VERSION >= 90800
  if (target.properties != nullptr)
    made.plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties);
#endif
  if (!finalized(made.plan, made.engine, filter)) return std::nullopt;
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
  const auto chosen = chosen_.find(key);
  const bool is_chosen = chosen != chosen_.end();
  const bool tunes = tunes_ && !is_chosen;
  PlanLimits limits = limits_;
  if (!tunes) limits.most = 1;

  std::map<std::string, double> seconds;
  PlanFilter filter;
  if (is_chosen) filter.only = chosen->second;
  filter.failed = [&](const std::string& engine, const std::string& why) {
    failures_.push_back(fmt::format("{} for \"{}\": {}", engine, key, why));
  };
  filter.works = [&](const CudnnPlan& plan) {
    if (!tunes) return true;
    try {
      seconds[plan.engine] = time_plan(target_.handle, plan, graph);
    } catch (const OutOfMemory&) {
      throw;  // no engine's fault: the batch is too large to be timed
    } catch (const RunError& error) {
      static_cast<void>(cudaGetLastError());  // else the check of a later launch finds it
      filter.failed(plan.engine, error.what());
      return false;
    }
    return true;
  };
  auto plans = make_plans(target_, operations, limits, filter);
  if (plans.empty() && is_chosen) {
    throw InputError(fmt::format(
        "the tuning file names engine {} for \"{}\", which this cuDNN does not offer here: tune "
        "again (--tune-engines), or leave out --tuning-file",
        chosen->second, key));
  }
  if (plans.empty()) return {};
  if (tunes) times_[key] = seconds;
  return std::move(*std::ranges::min_element(
      plans, {}, [&](const CudnnPlan& plan) { return seconds[plan.engine]; }));
}

std::vector<CudnnPlan> make_plans(const CudnnTarget& target, const Descriptor& graph,
                                  const PlanLimits& limits, const PlanFilter& filter) {
  std::vector<CudnnPlan> plans;
  std::map<std::int64_t, std::set<std::string>> seen;  // by engine
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor& config : configs_by(mode, target, graph, filter)) {
      if (plans.size() == limits.most) return plans;
      const Descriptor engine =
          config.get_descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      if (!allowed(engine, limits)) continue;
      std::string name = name_of(config, engine);
      if (!filter.only.empty() && name != filter.only) continue;
      auto& of_engine = seen[engine.get_one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX)];
      if (of_engine.size() == limits.most_of_engine || !of_engine.insert(name).second) continue;
      auto plan = compile(target, std::move(config), std::move(name), filter);
      if (plan && filter.works(*plan)) plans.push_back(*std::move(plan));
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
