#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error.hpp"
#include "cuda/cudnn/cudnn_plan.hpp"

namespace rueda::cuda {
namespace {

std::string named(const std::string& engine, const std::string& key) {
  return fmt::format("{} for \"{}\"", engine, key);
}

void execute(cudnnHandle_t cudnn, const CudnnPlan& plan, const Descriptor& tensors) {
  check(cudnnBackendExecute(cudnn, plan.plan.get(), tensors.get()), "cudnnBackendExecute");
  cudaStream_t stream = nullptr;
  check(cudnnGetStream(cudnn, &stream), "cudnnGetStream");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

}  // namespace

bool succeeds(const std::function<void()>& work, const std::string& what,
              std::vector<std::string>& notes) {
  try {
    work();
    return true;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    static_cast<void>(cudaGetLastError());  // else the check of a later launch finds it
    notes.push_back(what + ": " + error.what());
    return false;
  }
}

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
    made.plan = make(key, made);
    if (made.plan.plan) engines_[key] = made.plan.engine;
    if (times_.contains(key)) when_timed_();
  }
  const CudnnPlan& plan = plans_.at(key).plan;
  if (!plan.plan) return nullptr;
  return &plan;
}

/// An empty plan if there is none.
CudnnPlan PlanStore::make(const std::string& key, const Entry& entry) {
  const auto chosen = chosen_.find(key);
  if (chosen == chosen_.end() && tunes_) return fastest(key, entry);
  if (chosen == chosen_.end()) return first(entry, filter_for(key));
  if (chosen->second == kUnfused) return {};
  PlanFilter filter = filter_for(key);
  filter.wanted = [&](const std::string& engine) { return engine == chosen->second; };
  CudnnPlan plan = first(entry, filter);
  if (plan.plan) return plan;
  throw InputError(fmt::format(
      "the tuning file names engine {} for \"{}\", which this cuDNN does not offer here: tune "
      "again (--tune-engines), or leave out --tuning-file",
      chosen->second, key));
}

CudnnPlan PlanStore::fastest(const std::string& key, const Entry& entry) {
  std::map<std::string, PlanTime> times;
  PlanFilter filter = filter_for(key);
  filter.puts_off = false;
  filter.works = [&](const CudnnPlan& plan) {
    const auto time = [&] {
      times[plan.engine] = time_plan(target_.handle, plan, entry.graph, entry.graph, {});
    };
    return succeeds(time, named(plan.engine, key), failures_);
  };
  auto plans = make_plans(target_, entry.operations, limits_, filter);
  if (plans.empty()) return {};
  std::vector<PlanTime> of_plans;
  for (const CudnnPlan& plan : plans) of_plans.push_back(times.at(plan.engine));
  times_[key] = std::move(times);
  return std::move(plans[best_of(of_plans)]);
}

/// cuDNN's first suggestion; an empty plan if there is none.
CudnnPlan PlanStore::first(const Entry& entry, const PlanFilter& filter) const {
  PlanLimits one = limits_;
  one.most = 1;
  auto plans = make_plans(target_, entry.operations, one, filter);
  if (plans.empty()) return {};
  return std::move(plans.front());
}

PlanFilter PlanStore::filter_for(const std::string& key) {
  PlanFilter filter;
  filter.puts_off = puts_off_;
  filter.failed = [=, this](const std::string& engine, const std::string& why) {
    failures_.push_back(named(engine, key) + ": " + why);
  };
  // Without a handle cuDNN 9.19 crashes where it is to read a plan.
  if (target_.handle != nullptr) {
    filter.restore = [=, this](CudnnPlan& plan) {
      return kept_.restore(kept_.title(plan.engine, key), plan);
    };
  }
  if (kept_.has_folder()) {
    filter.keep = [=, this](const CudnnPlan& plan) {
      kept_.keep(kept_.title(plan.engine, key), plan);
    };
  }
  return filter;
}

PlanStore::Entries::value_type& PlanStore::entry_of(const CudnnPlan& plan) {
  auto entry = plans_.begin();
  while (&entry->second.plan != &plan) ++entry;
  return *entry;
}

bool PlanStore::prefers_unfused(const CudnnPlan& fused, const CudnnPlan& unfused,
                                const Epilogue& epilogue, const Epilogue& rest) {
  auto& [key, one] = entry_of(fused);
  const Entry& other = entry_of(unfused).second;
  const auto timed = times_.find(key);
  if (timed == times_.end()) return false;
  PlanTime& apart = timed->second[kUnfused];
  if (apart.launches == 0)
    apart = time_plan(target_.handle, other.plan, other.graph, one.graph, epilogue);
  PlanTime whole = timed->second.at(one.plan.engine);
  if (rest) whole = time_plan(target_.handle, one.plan, one.graph, one.graph, rest);
  const bool prefers = best_of(std::array{whole, apart}) == 1;
  if (prefers) {
    one.plan = {};
    engines_[key] = kUnfused;
  }
  when_timed_();
  return prefers;
}

bool PlanStore::runs(const CudnnPlan& plan, const Descriptor& tensors, std::size_t room) {
  auto& [key, entry] = entry_of(plan);
  if (entry.tried || times_.contains(key)) return bool(plan.plan);
  entry.tried = true;
  PlanFilter filter = filter_for(key);
  filter.puts_off = false;
  filter.works = [&](const CudnnPlan& tried) {
    const auto run = [&] { execute(target_.handle, tried, tensors); };
    return tried.workspace_bytes <= room && succeeds(run, named(tried.engine, key), failures_);
  };
  if (filter.works(plan)) return true;
  const std::string fails = plan.engine;
  filter.wanted = [&](const std::string& engine) { return engine != fails; };
  entry.plan = first(entry, filter);
  engines_.erase(key);
  if (entry.plan.plan) engines_[key] = entry.plan.engine;
  return bool(entry.plan.plan);
}

void PlanStore::put_off_compilation(bool on) {
  puts_off_ = on;
  if (on) return;
  for (auto entry = plans_.begin(); entry != plans_.end();) {
    if (entry->second.plan.put_off) {
      engines_.erase(entry->first);
      entry = plans_.erase(entry);
    } else {
      ++entry;
    }
  }
}

std::vector<std::string> PlanStore::put_off() const {
  std::vector<std::string> titles;
  for (const auto& [key, entry] : plans_)
    if (entry.plan.put_off) titles.push_back(kept_.title(entry.plan.engine, key));
  return titles;
}

std::string PlanStore::compile(const std::string& title) {
  std::string kept;
  PlanFilter filter;
  filter.keep = [&](const CudnnPlan& plan) { kept = kept_.keep(title, plan); };
  for (auto& [key, entry] : plans_) {
    const bool wanted = entry.plan.put_off && kept_.title(entry.plan.engine, key) == title;
    if (wanted && cuda::compile(target_, entry.plan, filter)) break;
  }
  return kept;
}

}  // namespace rueda::cuda
