#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda/cudnn/cudnn_graph.hpp"
#include "cuda/cudnn/kept_plans.hpp"

namespace rueda::cuda {

/// What an engine may do.
struct PlanLimits {
  /// TF32 for fp32 data. Then engines without are taken only where none with them is left.
  bool tensor_cores = true;
  bool deterministic = false;      ///< same input, same bits
  std::size_t most = 8;            ///< plans at most
  std::size_t most_of_engine = 3;  ///< of these: cuDNN may list 27 variants of one first
};

/// One way to execute an operation graph: an engine with its knobs, compiled.
struct CudnnPlan {
  Descriptor plan;
  Descriptor config;   ///< what the plan was made from; kept, for it may refer to it
  std::string engine;  ///< stable within one cuDNN version: "eng12{k1=2,k27=0}"
  std::size_t workspace_bytes = 0;
  bool put_off = false;  ///< not compiled yet
};

/// Whether NVRTC compiles the plan, most of a second each.
bool compiled_at_run_time(const CudnnPlan& plan);

/// Which of the plans that cuDNN offers are taken.
struct PlanFilter {
  /// Asked for each engine by its name.
  std::function<bool(const std::string& engine)> wanted = [](const std::string&) { return true; };
  /// Asked once for each plan that compiles, in cuDNN's order.
  std::function<bool(const CudnnPlan&)> works = [](const CudnnPlan&) { return true; };
  /// Gets each engine that cuDNN offers and then cannot compile, and why.
  std::function<void(const std::string& engine, const std::string& why)> failed =
      [](const std::string&, const std::string&) {};
  /// For what NVRTC compiles: whether the plan, with a target alone, could be
  /// made from a file.
  std::function<bool(CudnnPlan&)> restore = [](CudnnPlan&) { return false; };
  bool puts_off = false;  ///< whether what NVRTC would compile is left for `compile`
  /// Gets what was compiled.
  std::function<void(const CudnnPlan&)> keep = [](const CudnnPlan&) {};
};

/// Plans for `graph`, those that cuDNN's heuristics think fastest first; empty
/// if no engine within the limits supports it.
std::vector<CudnnPlan> make_plans(const CudnnTarget& target, const Descriptor& graph,
                                  const PlanLimits& limits, const PlanFilter& filter = {});

/// Compiles a plan that was put off. False if cuDNN cannot.
bool compile(const CudnnTarget& target, CudnnPlan& plan, const PlanFilter& filter);

/// A plan's tensors and workspace, fixed once.
Descriptor bind_tensors(const std::vector<std::pair<CudnnGraph::Tensor, void*>>& tensors,
                        void* workspace);

/// Which engine each kind of work is to use: what a tuning file holds. The key
/// says what is computed on which shapes, the value is CudnnPlan::engine, or
/// kUnfused for an epilogue that a kernel computes in less time.
using EngineChoices = std::map<std::string, std::string>;

constexpr const char* kUnfused = "unfused";

/// What one execution of a plan took, and how many kernels, clearings and copies it launched.
struct PlanTime {
  double seconds = 0;
  int launches = 0;
};

/// Of every engine that was timed, by work and engine.
using EngineTimes = std::map<std::string, std::map<std::string, PlanTime>>;

/// Which of `times`, at least one, is to be taken: the least. What takes at most 2 % more counts as
/// equal, and of equals the one with the fewest launches is taken, then the faster.
std::size_t best_of(std::span<const PlanTime> times);

/// Does `work`. False if it fails: `notes` gets the reason, after `what`.
/// Throws OutOfMemory, which is no plan's fault.
bool succeeds(const std::function<void()>& work, const std::string& what,
              std::vector<std::string>& notes);

/// Times `plan`, which was made for `part` of `graph`, with what comes after it, on memory of its
/// own and as a step executes it: in a CUDA graph of up to 20 executions, one after the other on
/// the same tensors, which stay in the cache as far as they fit. The median of several replays.
/// `epilogue` gets the graph's tensors, and queues what can be recorded.
PlanTime time_plan(cudnnHandle_t cudnn, const CudnnPlan& plan, const CudnnGraph& part,
                   const CudnnGraph& graph,
                   const std::function<void(const std::map<CudnnGraph::Tensor, void*>&)>& epilogue);

/// Makes one plan for each kind of work and keeps it: layers of equal shape
/// share theirs. An engine that does not compile is left out, and so is one
/// that does not run when it is timed or tried.
class PlanStore {
 public:
  /// The target outlives the store. `gpu`: the name of its device.
  PlanStore(const CudnnTarget& target, const PlanLimits& limits, const std::string& gpu = {})
      : target_(target), limits_(limits), kept_(gpu) {}
  /// Engines that are to be used where they are named; for all other work
  /// cuDNN's first suggestion is. Drops all plans made so far.
  void use(EngineChoices chosen);

  using Build = std::function<void(CudnnGraph&)>;

  /// The plan for the graph that `build` writes down; null if no engine
  /// supports it. Throws RunError where a chosen engine is not to be had any
  /// more.
  const CudnnPlan* find(const std::string& key, const Build& build);

  /// Does on some tensors what an epilogue does, or the rest of it.
  using Epilogue = std::function<void(const std::map<CudnnGraph::Tensor, void*>&)>;

  bool tunes() const { return tunes_; }
  /// Whether a tuning file says how this work is to be done, or it is timed.
  bool decides(const std::string& key) const { return tunes_ || chosen_.contains(key); }
  /// Whether the engines of this plan, one of this store's, were timed.
  bool timed(const CudnnPlan& plan) { return times_.contains(entry_of(plan).first); }
  /// Whether the plan `unfused`, then `epilogue`, is better (best_of) than `fused`, then
  /// `rest`. If so, `fused` is empty from then on. Both are this store's. False for
  /// what was not timed.
  bool prefers_unfused(const CudnnPlan& fused, const CudnnPlan& unfused, const Epilogue& epilogue,
                       const Epilogue& rest = {});

  /// Whether `plan`, one of this store's, can be executed. Tries it on
  /// `tensors` at the first call unless it was timed. One that fails is left
  /// out: in its place comes the next suggestion that can be executed with
  /// `room` bytes of workspace, and if there is none, it is empty from then on.
  bool runs(const CudnnPlan& plan, const Descriptor& tensors, std::size_t room);

  /// From now on, plans that NVRTC compiles are kept in `folder` for later
  /// runs, a file each, for one GPU and version of cuDNN.
  void keep_in(std::filesystem::path folder) { kept_.keep_in(std::move(folder)); }
  /// Plans that were not read or not written, and why.
  const std::vector<std::string>& kept_notes() const noexcept { return kept_.notes(); }

  /// From now on, plans that NVRTC would compile are only named: they cannot be
  /// executed. Not where engines are timed. `false` ends that, and drops those
  /// that are still not compiled.
  void put_off_compilation(bool on);
  /// The titles of the plans that were put off: alike on all GPUs of one kind.
  std::vector<std::string> put_off() const;
  /// Compiles the plan of this title, which was put off. Returns what `restore_from`
  /// takes; nothing if cuDNN cannot compile it.
  std::string compile(const std::string& title);
  /// From now on, the plan of this title is made of what `compile` returned
  /// somewhere, as long as cuDNN takes it.
  void restore_from(const std::string& title, std::string kept) {
    kept_.add(title, std::move(kept));
  }

  /// From now on, work that is new is timed among the first few suggestions,
  /// and the fastest is taken.
  void tune(bool on) { tunes_ = on; }
  /// `then` is called after each kind of work whose engines were timed.
  void when_timed(std::function<void()> then) { when_timed_ = std::move(then); }

  /// Every engine in use, by key.
  const EngineChoices& engines() const noexcept { return engines_; }
  const EngineTimes& times() const noexcept { return times_; }
  /// Engines that were left out, each with its work and the reason.
  const std::vector<std::string>& failures() const noexcept { return failures_; }

 private:
  /// A plan and all that it was made from, which cuDNN is not known to copy.
  struct Entry {
    CudnnGraph graph;
    Descriptor operations;
    CudnnPlan plan;
    bool tried = false;
  };
  using Entries = std::map<std::string, Entry>;

  CudnnPlan make(const std::string& key, const Entry& entry);
  CudnnPlan fastest(const std::string& key, const Entry& entry);
  CudnnPlan first(const Entry& entry, const PlanFilter& filter) const;
  PlanFilter filter_for(const std::string& key);
  Entries::value_type& entry_of(const CudnnPlan& plan);

  CudnnTarget target_;
  PlanLimits limits_;
  KeptPlans kept_;
  EngineChoices chosen_;
  EngineChoices engines_;
  EngineTimes times_;
  std::vector<std::string> failures_;
  bool tunes_ = false;
  bool puts_off_ = false;
  std::function<void()> when_timed_ = [] {};
  Entries plans_;
};

}  // namespace rueda::cuda
