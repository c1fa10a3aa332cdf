#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cudnn_plan.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "rueda/core/random.hpp"

namespace rueda::cuda {
namespace {

constexpr int kWarmUps = 2;
constexpr int kTimes = 7;
constexpr std::size_t kMostSets = 64;
constexpr std::size_t kMostKept = std::size_t{16} << 20U;  // bytes of a file; plans have 0.2 MB

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

/// A graph's tensors with random contents, in several sets: together they are
/// larger than the device's cache, so no execution finds what one before it
/// left there. A plan may be for a part of the graph.
class Operands {
 public:
  struct Set {
    std::map<CudnnGraph::Tensor, void*> tensors;
    Descriptor pack;  ///< of the plan's tensors
  };

  Operands(const CudnnGraph& graph, const CudnnGraph& part, std::size_t workspace_bytes,
           cudaStream_t stream)
      : workspace_(make_device_memory(workspace_bytes)) {
    std::size_t bytes = 0;
    for (const auto& [id, spec] : graph.in_memory()) bytes += bytes_of(spec);
    const auto cache_bytes = std::size_t(properties_of(current_device()).l2CacheSize);
    const std::size_t sets = std::min(kMostSets, 2 * cache_bytes / bytes + 1);
    for (std::size_t i = 0; i < sets; ++i) add_set(graph, part, stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

  const Set& next() { return sets_[turn_++ % sets_.size()]; }

 private:
  void add_set(const CudnnGraph& graph, const CudnnGraph& part, cudaStream_t stream) {
    static const std::vector<std::uint16_t> values = random_values();
    constexpr std::size_t kValue = sizeof(std::uint16_t);
    Set& set = sets_.emplace_back();
    std::vector<std::pair<CudnnGraph::Tensor, void*>> packed;
    for (const auto& [id, spec] : graph.in_memory()) {
      auto* tensor =
          static_cast<std::byte*>(memory_.emplace_back(make_device_memory(bytes_of(spec))).get());
      for (std::size_t done = 0; done < bytes_of(spec); done += values.size() * kValue) {
        const std::size_t count = std::min(values.size() * kValue, bytes_of(spec) - done);
        queue_copy(tensor + done, values.data(), count, cudaMemcpyHostToDevice, stream);
      }
      set.tensors[id] = tensor;
      if (part.in_memory().contains(id)) packed.emplace_back(id, tensor);
    }
    set.pack = bind_tensors(packed, workspace_.get());
  }

  DeviceMemory workspace_;
  std::vector<DeviceMemory> memory_;
  std::vector<Set> sets_;
  std::size_t turn_ = 0;
};

cudaStream_t stream_of(cudnnHandle_t cudnn) {
  cudaStream_t stream = nullptr;
  check(cudnnGetStream(cudnn, &stream), "cudnnGetStream");
  return stream;
}

/// Seconds of one execution of `plan`, which was made for `part` of `graph`,
/// and of what comes after it, on memory of its own: the median of several
/// after a warm-up.
double time_plan(cudnnHandle_t cudnn, const CudnnPlan& plan, const CudnnGraph& part,
                 const CudnnGraph& graph, const PlanStore::Epilogue& epilogue = {}) {
  cudaStream_t stream = stream_of(cudnn);
  Operands operands(graph, part, plan.workspace_bytes, stream);
  const auto run = [&] {
    const Operands::Set& set = operands.next();
    check(cudnnBackendExecute(cudnn, plan.plan.get(), set.pack.get()), "cudnnBackendExecute");
    if (epilogue) epilogue(set.tensors);
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

/// Does `work`. False if it fails: `notes` gets the reason, after `what`.
bool succeeds(const std::function<void()>& work, const std::string& what,
              std::vector<std::string>& notes) {
  try {
    work();
    return true;
  } catch (const OutOfMemory&) {
    throw;  // no engine's fault: the batch is too large to be timed
  } catch (const Error& error) {
    static_cast<void>(cudaGetLastError());  // else the check of a later launch finds it
    notes.push_back(what + ": " + error.what());
    return false;
  }
}

std::string named(const CudnnPlan& plan, const std::string& key) {
  return fmt::format("{} for \"{}\"", plan.engine, key);
}

std::string hash_of(const std::string& text) {
  return fmt::format("{:016x}", std::hash<std::string>{}(text));
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
  if (is_chosen && chosen->second == kUnfused) return {};
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
    const auto run = [&] { seconds[plan.engine] = time_plan(target_.handle, plan, graph, graph); };
    return !tunes || succeeds(run, named(plan, key), failures_);
  };
  if (!kept_in_.empty()) keep_plans(key, filter);
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

PlanStore::Entries::value_type& PlanStore::entry_of(const CudnnPlan& plan) {
  const auto same = [&](const auto& entry) { return &entry.second.plan == &plan; };
  return *std::ranges::find_if(plans_, same);
}

bool PlanStore::prefers_unfused(const CudnnPlan& fused, const CudnnPlan& unfused,
                                const Epilogue& epilogue) {
  auto& [key, one] = entry_of(fused);
  const Entry& other = entry_of(unfused).second;
  const auto timed = times_.find(key);
  if (timed == times_.end()) return false;
  double& seconds = timed->second[kUnfused];
  if (seconds == 0)
    seconds = time_plan(target_.handle, other.plan, other.graph, one.graph, epilogue);
  if (timed->second.at(one.plan.engine) <= seconds) return false;
  one.plan = {};
  engines_[key] = kUnfused;
  return true;
}

bool PlanStore::runs(const CudnnPlan& plan, const Descriptor& tensors) {
  auto& [key, entry] = entry_of(plan);
  if (entry.tried || times_.contains(key)) return bool(plan.plan);
  entry.tried = true;
  const auto run = [&] {
    check(cudnnBackendExecute(target_.handle, plan.plan.get(), tensors.get()),
          "cudnnBackendExecute");
    check(cudaStreamSynchronize(stream_of(target_.handle)), "cudaStreamSynchronize");
  };
  if (!succeeds(run, named(plan, key), failures_)) entry.plan = {};
  return bool(plan.plan);
}

void PlanStore::keep_in(std::filesystem::path folder, const std::string& gpu) {
  kept_in_ = std::move(folder);
  kept_for_ = fmt::format(" on {}, cuDNN {}: ", gpu, cudnnGetVersion());
}

/// A file has a line that says what it is, with a hash of the rest, and then
/// cuDNN's own text. cuDNN gets no text that is damaged: it may crash.
void PlanStore::keep_plans(const std::string& key, PlanFilter& filter) {
  const auto title = [=, this](const CudnnPlan& plan) { return named(plan, key) + kept_for_; };
  const auto file = [=, this](const CudnnPlan& plan) {
    return kept_in_ / (hash_of(title(plan)) + ".plan");
  };
  filter.restore = [=, this](CudnnPlan& plan) {
    const auto read = [&] {
      const InputFile input{file(plan), file(plan).string(), "the plan is compiled"};
      const std::string all = read_whole(input, kMostKept);
      const std::string text = all.substr(std::min(all.find('\n'), all.size() - 1) + 1);
      if (all != title(plan) + hash_of(text) + "\n" + text) input.refuse("it is not this plan");
      plan.plan.set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, std::span<const char>(text));
      plan.plan.finalize();
    };
    // Without a handle cuDNN 9.19 crashes here.
    return target_.handle != nullptr && succeeds(read, named(plan, key), kept_notes_);
  };
  filter.keep = [=, this](const CudnnPlan& plan) {
    const auto write = [&] {
      const auto json = plan.plan.get_all<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
      const std::string text(json.begin(), json.end());
      write_output(file(plan), title(plan) + hash_of(text) + "\n" + text);
    };
    succeeds(write, named(plan, key), kept_notes_);
  };
}

}  // namespace rueda::cuda
