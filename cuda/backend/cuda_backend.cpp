#include "cuda_backend.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <variant>

#include "cuda/cudnn/cudnn_plan.hpp"
#include "cuda/device/device_query.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/operations/named_operation.hpp"
#include "cuda/operations/operations.hpp"
#include "rueda/core/error.hpp"
#include "rueda/model/fusion.hpp"

namespace rueda::cuda {
namespace {

/// cuBLAS' own scratch memory: with it, products on a stream are the same bits every time and may
/// be recorded.
constexpr std::size_t kCublasWorkspace = std::size_t{4} << 20U;

/// By mark.
constexpr std::array kPhaseRanges = {"load", "forward", "loss", "backward"};

/// Whether an activation lies as no other does: the image with padded channels, and fp32 in every
/// precision behind the global pooling.
bool is_special(const OperationRequest& r, NodeId node) {
  return node == r.graph.input() || is_behind_pooling(r.graph.node(node));
}

/// For nodes that take their inputs for usual activations. A convolution may read the image.
const OperationRequest& behind_convolution(const OperationRequest& r) {
  const bool reads_image = std::holds_alternative<ConvNode>(r.self().kind);
  for (const NodeId input : r.self().inputs) {
    const bool is_first = input == r.input();
    if (!is_special(r, input) || (reads_image && is_first && input == r.graph.input())) continue;
    throw RunError("layer " + r.self().name +
                   ": the cuda backend has only convolutions on the image, and only dense layers "
                   "behind a global average pool");
  }
  return r;
}

const OperationRequest& behind_pooling(const OperationRequest& r) {
  if (!is_behind_pooling(r.graph.node(r.input()))) {
    throw RunError("layer " + r.self().name +
                   ": the cuda backend has dense layers only behind a global average pool");
  }
  return r;
}

/// Picks the maker of each kind of node.
struct Maker {
  const OperationRequest& request;

  std::unique_ptr<Operation> operator()(const InputNode&) const { return nullptr; }
  std::unique_ptr<Operation> operator()(const ConvNode& n) const {
    return make_conv(behind_convolution(request), n);
  }
  std::unique_ptr<Operation> operator()(const BatchNormNode& n) const {
    return make_batch_norm(behind_convolution(request), n);
  }
  std::unique_ptr<Operation> operator()(const AddNode& n) const {
    return make_add(behind_convolution(request), n);
  }
  std::unique_ptr<Operation> operator()(const MaxPoolNode& n) const {
    return make_max_pool(behind_convolution(request), n);
  }
  std::unique_ptr<Operation> operator()(const PadShortcutNode& n) const {
    return make_pad_shortcut(behind_convolution(request), n);
  }
  std::unique_ptr<Operation> operator()(const GlobalAveragePoolNode&) const {
    return make_global_average_pool(behind_convolution(request));
  }
  std::unique_ptr<Operation> operator()(const DenseNode& n) const {
    return make_dense(behind_pooling(request), n);
  }
};

CudnnHandle make_cudnn(cudaStream_t stream) {
  cudnnHandle_t raw = nullptr;
  check(cudnnCreate(&raw), "cudnnCreate");
  CudnnHandle handle(raw);
  check(cudnnSetStream(raw, stream), "cudnnSetStream");
  return handle;
}

CublasHandle make_cublas(cudaStream_t stream, Precision precision) {
  cublasHandle_t raw = nullptr;
  check(cublasCreate(&raw), "cublasCreate");
  CublasHandle handle(raw);
  check(cublasSetStream(raw, stream), "cublasSetStream");
  const bool rounds = precision == Precision::tf32;
  check(cublasSetMathMode(raw, rounds ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_PEDANTIC_MATH),
        "cublasSetMathMode");
  return handle;
}

}  // namespace

CudaBackend::CudaBackend(const CudaOptions& options) : tunes_(options.tune) {
  context_.precision = options.precision;
  context_.deterministic = options.deterministic;
  context_.stream = make_stream();
  context_.cudnn = make_cudnn(stream());
  context_.cublas = make_cublas(stream(), options.precision);
  const PlanLimits limits{.tensor_cores = options.precision != Precision::fp32,
                          .deterministic = options.deterministic};
  context_.plans = std::make_unique<PlanStore>(CudnnTarget{context_.cudnn.get(), nullptr}, limits);
  reduce_device_ = std::make_unique<CudaReduceDevice>(stream());
  context_.request_scratch(kCublasWorkspace);
  announcements_ = make_pinned_memory(kMostBuckets * sizeof(std::uint64_t));
  std::memset(announcements_.get(), 0, kMostBuckets * sizeof(std::uint64_t));
}

/// What cuDNN compiled stays: the next plan often asks for the same, and it takes seconds.
void CudaBackend::forget_plans() {
  finish();
  recordings_.clear();
  context_.packed = {};
  context_.scratch = {};
  context_.scratch_bytes = kCublasWorkspace;
  largest_batch_ = 0;
  losses_ = {};
  indices_ = {};
  host_indices_ = {};
  hash_ = {};
}

/// Its memory may still be in use.
CudaBackend::~CudaBackend() { static_cast<void>(cudaStreamSynchronize(stream())); }

std::string CudaBackend::device() const {
  int ordinal = 0;
  check(cudaGetDevice(&ordinal), "cudaGetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  return properties.name;
}

Graph CudaBackend::prepare(const Graph& graph) const {
  return fuse_additions(graph, {.conv_adds = true, .batch_norm_adds = true});
}

void CudaBackend::replay(std::uint64_t key, const std::function<void()>& work) {
  close_phase();
  const NvtxRange range("forward and backward");
  recordings_[key].run(stream(), work);
  close_phase();
}

void CudaBackend::begin_range(const char* name) { push_range(name); }

void CudaBackend::end_range() {
  close_phase();
  pop_range();
}

/// The host's time for the work between two marks: when it is queued, or recorded.
void CudaBackend::mark(Mark mark) {
  close_phase();
  if (mark != Mark::end) {
    push_range(kPhaseRanges[static_cast<std::size_t>(mark)]);
    in_phase_ = true;
  }
  marks_.set(mark, stream());
}

void CudaBackend::close_phase() {
  if (in_phase_) pop_range();
  in_phase_ = false;
}

ComputeSeconds CudaBackend::compute_seconds() { return marks_.seconds(); }

/// A kernel on one thread: the counter is host memory, so it is seen while the rest still runs.
void CudaBackend::announce(std::size_t bucket) {
  check(count_up(static_cast<std::uint64_t*>(announcements_.get()), bucket, stream()), "count_up");
}

std::uint64_t CudaBackend::announced(std::size_t bucket) const {
  auto* counters = static_cast<std::uint64_t*>(announcements_.get());
  return std::atomic_ref(counters[bucket]).load(std::memory_order_acquire);
}

std::size_t CudaBackend::activation_bytes(const Graph& graph, NodeId node, int batch) const {
  const Shape shape = graph.shape(node);
  const auto pixels = static_cast<std::size_t>(batch) * static_cast<std::size_t>(shape.height) *
                      static_cast<std::size_t>(shape.width);
  return pixels * static_cast<std::size_t>(stored_channels(graph, node, context_)) *
         bytes_of(element_of(graph.node(node), context_));
}

std::unique_ptr<Operation> CudaBackend::make_operation(const Graph& graph, NodeId node, int batch,
                                                       Mode mode) {
  largest_batch_ = std::max(largest_batch_, static_cast<std::size_t>(batch));
  const bool full = mode == Mode::train && static_cast<std::size_t>(batch) == largest_batch_;
  if (tunes_) tune(full);
  const OperationRequest request{context_, graph, node, batch, mode, full};
  auto operation = std::visit(Maker{request}, graph.node(node).kind);
  if (!operation) return nullptr;
  return std::make_unique<NamedOperation>(std::move(operation), graph.node(node).name);
}

/// Partial batches and evaluation take cuDNN's first suggestion: they are too rare to be timed.
void CudaBackend::tune(bool full) {
  if (!full) {
    context_.plans->tune_with({});
    return;
  }
  context_.plans->tune_with([this](const CudnnPlan& plan, const CudnnGraph& graph) {
    return time_plan(context_.cudnn.get(), stream(), plan, graph);
  });
}

void CudaBackend::bind_parameters(const Graph& graph, const ParameterMemory& memory) {
  graph_ = graph;
  context_.parameters = memory;
  context_.packed.allocate(memory.values);
  context_.scratch = make_device_memory(context_.scratch_bytes);
  check(cublasSetWorkspace(context_.cublas.get(), context_.scratch.get(), kCublasWorkspace),
        "cublasSetWorkspace");
  losses_ = make_device_memory(largest_batch_ * sizeof(kernels::RowLoss));
  indices_ = make_device_memory(largest_batch_ * sizeof(std::uint32_t));
  host_indices_ = make_pinned_memory(largest_batch_ * sizeof(std::uint32_t));
  hash_ = make_device_memory(sizeof(std::uint64_t));
}

std::size_t CudaBackend::buffer_bytes() const {
  return largest_batch_ * (sizeof(kernels::RowLoss) + sizeof(std::uint32_t)) +
         sizeof(std::uint64_t);
}

void CudaBackend::pack_parameters() { context_.packed.pack_all(graph_, stream()); }

}  // namespace rueda::cuda
