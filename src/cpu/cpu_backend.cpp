#include "cpu_backend.hpp"

#include <fstream>
#include <variant>

#include <omp.h>

#include "operations.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/machine.hpp"

namespace rueda::cpu {
namespace {

/// For nodes whose output lies as their input does, so that the input must not be plain.
const OperationRequest& behind_layout(const OperationRequest& r) {
  for (const NodeId input : r.self().inputs) {
    if (!is_plain(r.graph.node(input))) continue;
    throw RunError("layer " + r.self().name +
                   ": the cpu backend has batch norms, additions and max pools only behind a "
                   "convolution, not on the image or behind a global average pool");
  }
  return r;
}

/// Picks the maker of each kind of node.
struct Maker {
  const OperationRequest& request;

  std::unique_ptr<Operation> operator()(const InputNode&) const { return nullptr; }
  std::unique_ptr<Operation> operator()(const ConvNode& n) const { return make_conv(request, n); }
  std::unique_ptr<Operation> operator()(const BatchNormNode& n) const {
    return make_batch_norm(behind_layout(request), n);
  }
  std::unique_ptr<Operation> operator()(const AddNode& n) const {
    return make_add(behind_layout(request), n);
  }
  std::unique_ptr<Operation> operator()(const MaxPoolNode& n) const {
    return make_max_pool(behind_layout(request), n);
  }
  std::unique_ptr<Operation> operator()(const PadShortcutNode& n) const {
    return make_pad_shortcut(request, n);
  }
  std::unique_ptr<Operation> operator()(const GlobalAveragePoolNode&) const {
    return make_global_average_pool(request);
  }
  std::unique_ptr<Operation> operator()(const DenseNode& n) const { return make_dense(request, n); }
};

}  // namespace

std::string onednn_version() {
  const dnnl::version_t* v = dnnl::version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

CpuBackend::CpuBackend(const CpuOptions& options) {
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
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
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
  const OperationRequest request{context_, graph, node, batch, mode};
  return std::visit(Maker{request}, graph.node(node).kind);
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
