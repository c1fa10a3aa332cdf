#include <algorithm>
#include <array>
#include <tuple>

#include "base/random.hpp"
#include "cuda/cudnn/cudnn_plan.hpp"
#include "cuda/device/cuda_graph.hpp"

namespace rueda::cuda {
namespace {

constexpr int kReplays = 7;
constexpr int kMostExecutions = 20;
constexpr double kMostSeconds = 0.002;  ///< of a graph, unless one execution takes longer
constexpr double kTie = 1.02;

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

/// A graph's tensors with random contents. A plan may be for a part of the graph.
class Operands {
 public:
  Operands(const CudnnGraph& graph, const CudnnGraph& part, std::size_t workspace_bytes,
           cudaStream_t stream)
      : workspace_(make_device_memory(workspace_bytes)) {
    std::vector<std::pair<CudnnGraph::Tensor, void*>> packed;
    for (const auto& [id, spec] : graph.in_memory()) {
      memory_.push_back(make_device_memory(bytes_of(spec)));
      tensors_[id] = memory_.back().get();
      fill(tensors_[id], bytes_of(spec), stream);
      if (part.in_memory().contains(id)) packed.emplace_back(id, tensors_[id]);
    }
    pack_ = bind_tensors(packed, workspace_.get());
  }

  const std::map<CudnnGraph::Tensor, void*>& tensors() const { return tensors_; }
  const Descriptor& pack() const { return pack_; }  ///< of the plan's tensors

 private:
  static void fill(void* tensor, std::size_t bytes, cudaStream_t stream) {
    static const std::vector<std::uint16_t> values = random_values();
    constexpr std::size_t kValue = sizeof(std::uint16_t);
    for (std::size_t done = 0; done < bytes; done += values.size() * kValue) {
      const std::size_t count = std::min(values.size() * kValue, bytes - done);
      queue_copy(static_cast<std::byte*>(tensor) + done, values.data(), count,
                 cudaMemcpyHostToDevice, stream);
    }
  }

  DeviceMemory workspace_;
  std::vector<DeviceMemory> memory_;
  std::map<CudnnGraph::Tensor, void*> tensors_;
  Descriptor pack_;
};

/// The median of several of `work`, which queues on `stream`, after a first one. All are queued
/// before the host waits, so that the device does not wait for the host between two events.
template <typename Work>
double median_seconds(cudaStream_t stream, const Work& work) {
  std::array<Event, kReplays + 1> moments;
  for (Event& moment : moments) {
    moment = make_timing_event();
    work();
    check(cudaEventRecord(moment.get(), stream), "cudaEventRecord");
  }
  check(cudaEventSynchronize(moments.back().get()), "cudaEventSynchronize");
  std::array<double, kReplays> seconds{};
  for (std::size_t i = 0; i < seconds.size(); ++i)
    seconds[i] = seconds_between(moments[i].get(), moments[i + 1].get());
  std::ranges::nth_element(seconds, seconds.begin() + kReplays / 2);
  return seconds[kReplays / 2];
}

/// How many of `run` a graph gets.
template <typename Run>
int executions_for(cudaStream_t stream, const Run& run) {
  const Event begin = make_timing_event();
  const Event end = make_timing_event();
  run();  // loads what it needs
  check(cudaEventRecord(begin.get(), stream), "cudaEventRecord");
  run();
  check(cudaEventRecord(end.get(), stream), "cudaEventRecord");
  check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
  const double fit = kMostSeconds / seconds_between(begin.get(), end.get());
  return int(std::clamp(fit, 1.0, double(kMostExecutions)));
}

}  // namespace

PlanTime time_plan(cudnnHandle_t cudnn, const CudnnPlan& plan, const CudnnGraph& part,
                   const CudnnGraph& graph, const PlanStore::Epilogue& epilogue) {
  cudaStream_t stream = nullptr;
  check(cudnnGetStream(cudnn, &stream), "cudnnGetStream");
  const Operands operands(graph, part, plan.workspace_bytes, stream);
  const auto run = [&] {
    check(cudnnBackendExecute(cudnn, plan.plan.get(), operands.pack().get()),
          "cudnnBackendExecute");
    if (epilogue) epilogue(operands.tensors());
  };
  const int executions = executions_for(stream, run);
  const CudaGraph recorded = record_graph(stream, [&] {
    for (int i = 0; i < executions; ++i) run();
  });
  const CudaGraphExec graph_of_all = instantiate(recorded);
  const double seconds = median_seconds(
      stream, [&] { check(cudaGraphLaunch(graph_of_all.get(), stream), "cudaGraphLaunch"); });
  return {seconds / executions, int(launches_in(recorded)) / executions};
}

std::size_t best_of(std::span<const PlanTime> times) {
  const double least = std::ranges::min(times, {}, &PlanTime::seconds).seconds;
  std::size_t best = 0;
  const auto rank = [&](const PlanTime& t) {
    const bool ties = t.seconds <= kTie * least;
    return std::tuple(!ties, ties ? t.launches : 0, t.seconds);
  };
  for (std::size_t i = 1; i < times.size(); ++i)
    if (rank(times[i]) < rank(times[best])) best = i;
  return best;
}

}  // namespace rueda::cuda
