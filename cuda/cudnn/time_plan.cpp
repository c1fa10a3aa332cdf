#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "cuda/cudnn/cudnn_plan.hpp"

namespace rueda::cuda {
namespace {

constexpr int kWarmUps = 2;
constexpr int kTimes = 7;
constexpr std::size_t kMostSets = 64;

std::size_t bytes_of(const TensorSpec& spec) {
  if (spec.type == CUDNN_DATA_BFLOAT16) return spec.elements() * 2;
  return spec.elements() * 4;
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

}  // namespace

double time_plan(cudnnHandle_t cudnn, const CudnnPlan& plan, const CudnnGraph& part,
                 const CudnnGraph& graph, const PlanStore::Epilogue& epilogue) {
  cudaStream_t stream = nullptr;
  check(cudnnGetStream(cudnn, &stream), "cudnnGetStream");
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

}  // namespace rueda::cuda
