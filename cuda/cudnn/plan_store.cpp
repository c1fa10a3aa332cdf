#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cudnn_plan.hpp"
#include "rueda/core/error.hpp"

namespace rueda::cuda {
namespace {

constexpr int kWarmUps = 2;
constexpr std::size_t kTimes = 7;
/// Every byte of the operands: small positive numbers as fp32 and as bf16, so that no sum overflows
/// and no multiplier idles on zeros.
constexpr int kFill = 0x3c;

std::size_t bytes_of(const TensorSpec& spec) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < spec.dims.size(); ++i) last += (spec.dims[i] - 1) * spec.strides[i];
  const std::size_t element = spec.type == CUDNN_DATA_BFLOAT16 ? 2 : 4;
  return std::size_t(last + 1) * element;
}

/// Seconds of one execution of `plan`, which was made for `graph`, on memory of its own: the median
/// of several after a warm-up.
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
  for (const CudnnPlan& plan : plans) {
    seconds.push_back(time_plan(target_.handle, tuning_, plan, graph));
  }
  const auto best = std::ranges::min_element(seconds) - seconds.begin();
  return std::move(plans[std::size_t(best)]);
}

}  // namespace rueda::cuda
