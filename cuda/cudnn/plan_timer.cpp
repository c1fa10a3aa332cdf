#include <algorithm>
#include <array>

#include "cudnn_plan.hpp"

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
  return static_cast<std::size_t>(last + 1) * element;
}

/// Memory for every tensor of a plan, and its workspace.
class Operands {
 public:
  Operands(const CudnnPlan& plan, const CudnnGraph& graph, cudaStream_t stream) {
    std::vector<std::pair<CudnnGraph::Tensor, void*>> tensors;
    for (const auto& [id, spec] : graph.in_memory()) {
      memory_.push_back(make_device_memory(bytes_of(spec)));
      check(cudaMemsetAsync(memory_.back().get(), kFill, bytes_of(spec), stream),
            "cudaMemsetAsync");
      tensors.emplace_back(id, memory_.back().get());
    }
    memory_.push_back(make_device_memory(plan.workspace_bytes));
    pack_ = bind_tensors(tensors, memory_.back().get());
  }
  cudnnBackendDescriptor_t pack() const { return pack_.get(); }

 private:
  std::vector<DeviceMemory> memory_;
  Descriptor pack_;
};

}  // namespace

double time_plan(cudnnHandle_t cudnn, cudaStream_t stream, const CudnnPlan& plan,
                 const CudnnGraph& graph) {
  const Operands operands(plan, graph, stream);
  const auto run = [&] {
    check(cudnnBackendExecute(cudnn, plan.plan.get(), operands.pack()), "cudnnBackendExecute");
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
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
    s = static_cast<double>(milliseconds) / 1000;
  }
  std::nth_element(seconds.begin(), seconds.begin() + kTimes / 2, seconds.end());
  return seconds[kTimes / 2];
}

}  // namespace rueda::cuda
