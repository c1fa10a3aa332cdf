#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "cudnn_plan.hpp"
#include "rueda/backend/precision.hpp"

namespace rueda::cuda {

/// Which engine each kind of work is to use: what a tuning file holds. The key says what is
/// computed on which shapes, the value is CudnnPlan::engine.
using EngineChoices = std::map<std::string, std::string>;

/// Makes one plan for each kind of work and keeps it: layers of equal shape share theirs.
class PlanStore {
 public:
  /// The target outlives the store.
  PlanStore(const CudnnTarget& target, const PlanLimits& limits);
  /// Engines that are to be used where they are named; for all other work cuDNN's first suggestion
  /// is. Drops all plans made so far.
  void use(EngineChoices chosen);

  using Build = std::function<void(CudnnGraph&)>;

  /// The plan for the graph that `build` writes down; null if no engine supports it. Throws
  /// RunError where a chosen engine is not to be had any more.
  const CudnnPlan* find(const std::string& key, const Build& build);

  /// From now on work that is new is timed among the first few suggestions by `time` (seconds of
  /// one execution), and the fastest is taken; an empty function ends it.
  using Timer = std::function<double(const CudnnPlan&, const CudnnGraph&)>;
  void tune_with(Timer time) { time_ = std::move(time); }

  /// Every engine in use, by key.
  const EngineChoices& engines() const noexcept { return engines_; }

 private:
  CudnnPlan make(const std::string& key, const CudnnGraph& graph, const Descriptor& operations);

  CudnnTarget target_;
  PlanLimits limits_;
  EngineChoices chosen_;
  EngineChoices engines_;
  Timer time_;
  /// A plan and all that it was made from, which cuDNN is not known to copy.
  struct Entry {
    CudnnGraph graph;
    Descriptor operations;
    CudnnPlan plan;
  };
  std::map<std::string, Entry> plans_;
};

}  // namespace rueda::cuda
