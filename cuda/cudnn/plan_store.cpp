#include "plan_store.hpp"

#include <limits>

#include "rueda/core/error.hpp"

namespace rueda::cuda {

PlanStore::PlanStore(const CudnnTarget& target, const PlanLimits& limits)
    : target_(target), limits_(limits) {}

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
    throw InputError(
        "the tuning file names engine " + chosen->second + " for \"" + key +
        "\", which this cuDNN does not offer here: tune again (--tune-engines), or leave out "
        "--tuning-file");
  }
  if (!time_) limits.most = 1;
  auto plans = make_plans(target_, operations, limits);
  if (plans.empty()) return {};
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; time_ && i < plans.size(); ++i) {
    const double seconds = time_(plans[i], graph);
    if (seconds < least) {
      least = seconds;
      best = i;
    }
  }
  return std::move(plans[best]);
}

}  // namespace rueda::cuda
