#include "cpu_backend.hpp"

#include <atomic>
#include <fstream>
#include <thread>
#include <variant>
#include <vector>

#include <omp.h>

#include "operations.hpp"
#include "parallel.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/machine.hpp"
#include "rueda/reduce/host_adder.hpp"

namespace rueda::cpu {
namespace {

/// On the thread that made it, which trains, additions are shared out to its team; on another one,
/// which works beside that team, they are not.
class HostReduceDevice final : public HostAdder {
 public:
  void add(std::span<float> into, std::span<const float> from) override {
    share_out(into.size(), [=, this](Range r) {
      HostAdder::add(into.subspan(r.begin, r.size()), from.subspan(r.begin, r.size()));
    });
  }
  void narrow(std::span<kernels::Bfloat16> to, std::span<const float> from,
              std::span<float> lost) override {
    share_out(to.size(), [=](Range r) { narrow_part(to, from, lost, r.begin, r.end); });
  }
  void add_narrow(std::span<float> into, std::span<const kernels::Bfloat16> from) override {
    share_out(into.size(), [=](Range r) { add_narrow_part(into, from, r.begin, r.end); });
  }
  void widen(std::span<float> to, std::span<const kernels::Bfloat16> from) override {
    share_out(to.size(), [=](Range r) { widen_part(to, from, r.begin, r.end); });
  }
  std::uint64_t check_sum(std::span<const float> values) override {
    std::atomic<std::uint64_t> sum{0};
    share_out(values.size(), [=, &sum](Range r) { sum += check_part(values, r.begin, r.end); });
    return sum;
  }
  void sum_all(std::span<const float* const> from, std::span<float* const> to,
               std::size_t count) override {
    share_out(count, [=](Range part) {
      std::vector<const float*> sources(from.begin(), from.end());
      std::vector<float*> targets(to.begin(), to.end());
      for (auto& source : sources) source += part.begin;
      for (auto& target : targets) target += part.begin;
      tree_sum(sources, targets, part.size());
    });
  }

 private:
  /// work(range) for ranges that together are all below `count`.
  template <class Work>
  void share_out(std::size_t count, const Work& work) const {
    if (std::this_thread::get_id() == home_)
      parallel_ranges(count, work);
    else
      work(Range{0, count});
  }

  const std::thread::id home_ = std::this_thread::get_id();
};

/// Whether the node's output lies as its input does, so that the input must not be plain.
bool keeps_layout(const NodeKind& kind) {
  return std::holds_alternative<BatchNormNode>(kind) || std::holds_alternative<AddNode>(kind) ||
         std::holds_alternative<MaxPoolNode>(kind);
}

}  // namespace

std::string onednn_version() {
  const dnnl::version_t* v = dnnl::version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

CpuBackend::CpuBackend(const CpuOptions& options)
    : reduce_device_(std::make_unique<HostReduceDevice>()) {
  if (options.precision == Precision::tf32) {
    throw InputError(
        "--precision tf32: only GPUs have it; use --precision fp32 or bf16, or --backend cuda");
  }
  omp_set_num_threads(options.threads);
  const ActivationLayout preferred = preferred_layout(context_.engine, options.precision);
  context_.format = {options.layout.value_or(preferred), options.precision};
}

std::string CpuBackend::device() const {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::unique_ptr<Memory> CpuBackend::allocate(std::size_t bytes) {
  return std::make_unique<HostMemory>(bytes);
}

std::size_t CpuBackend::activation_bytes(const Graph& graph, NodeId node, int batch) const {
  return context_.desc(graph, node, batch).get_size();
}

std::unique_ptr<Operation> CpuBackend::make_operation(const Graph& graph, NodeId node, int batch,
                                                      Mode mode) {
  const Node& self = graph.node(node);
  for (const NodeId input : self.inputs) {
    if (!keeps_layout(self.kind) || !is_plain(graph.node(input))) continue;
    throw RunError("layer " + self.name +
                   ": the cpu backend has batch norms, additions and max pools only behind a "
                   "convolution, not on the image or behind a global average pool");
  }
  const OperationRequest request{context_, graph, node, batch, mode};
  return std::visit([&](const auto& kind) { return make(request, kind); }, self.kind);
}

void CpuBackend::bind_parameters(const Graph& graph, const ParameterMemory& memory) {
  context_.parameters = memory;
  context_.packed.allocate(graph, context_.engine, memory.values);
  context_.scratch = std::make_unique<HostMemory>(context_.scratch_bytes);
}

void CpuBackend::forget_plans() {
  context_.packed = {};
  context_.scratch.reset();
  context_.scratch_bytes = 0;
}

void CpuBackend::pack_parameters() { context_.packed.pack_all(context_.stream); }

}  // namespace rueda::cpu
