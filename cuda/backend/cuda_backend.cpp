#include <cstring>
#include <map>
#include <variant>

#include "backend/roof.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "cuda/backend/cuda_backend_class.hpp"

namespace rueda::cuda {
namespace {

/// Scratch memory that each stream has at least. It is cuBLAS' own, with which products on a stream
/// are the same bits every time and may be recorded, and room for engines in place of failing ones.
constexpr std::size_t kLeastScratch = std::size_t{4} << 20U;

constexpr int kBeforeOthers = -1;  ///< a stream's priority; the all-reduce's is more urgent yet

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

/// What operations and the backend share.
Context make_context(const CudaOptions& options) {
  Context context;
  context.precision = options.precision;
  context.deterministic = options.deterministic;
  // What later layers wait for goes before weight gradients, where both are ready.
  context.main.stream = make_stream(kBeforeOthers);
  context.beside.stream = make_stream();
  context.forked = make_event();
  context.joined = make_event();
  const cudaStream_t stream = context.main.stream.get();
  // First: parts of cuDNN need cuBLAS' library, and find the one that is loaded.
  context.cublas = make_cublas(stream, options.precision);
  context.cudnn = make_cudnn(stream);
  const PlanLimits limits{.tensor_cores = options.precision != Precision::fp32,
                          .deterministic = options.deterministic};
  context.plans = std::make_unique<PlanStore>(CudnnTarget{context.cudnn.get(), nullptr}, limits,
                                              properties_of(current_device()).name);
  if (!options.plan_cache.empty()) context.plans->keep_in(options.plan_cache);
  for (Lane* lane : {&context.main, &context.beside}) lane->request_scratch(kLeastScratch);
  return context;
}

}  // namespace

CudaBackend::CudaBackend(const CudaOptions& options)
    : context_(make_context(options)),
      tunes_(options.tune),
      records_(switched_on("RUEDA_CUDA_GRAPHS")),
      reduce_device_(stream()) {
  static_cast<void>(switched_on("RUEDA_CUDA_PDL"));  // refused before the first launch, if wrong
  check(cudaMemsetAsync(counts_.get(), 0, kCounters, stream()), "cudaMemsetAsync");
  std::memset(announcements_.get(), 0, kCounters);
}

std::string CudaBackend::device() const { return properties_of(current_device()).name; }

Graph CudaBackend::prepare(const Graph& graph) const { return fuse_additions(graph, kGpuFusions); }

void CudaBackend::replay(std::optional<std::uint64_t> key, const std::function<void()>& work) {
  if (key && records_)
    recordings_[*key].run(stream(), work);
  else
    work();
  marks_.close(stream());  // all marks of a micro-batch are queued
}

std::optional<Roof> CudaBackend::roof() { return roof_of(device(), context_.precision); }

ActivationView CudaBackend::view(const Graph& graph, NodeId node) const {
  const Shape shape = graph.shape(node);
  const auto channels = std::size_t(shape.channels);
  return {.channels = channels,
          .pixels = std::size_t(shape.height) * std::size_t(shape.width),
          .block = channels,
          .bf16 = element_of(graph.node(node), context_) == Element::bf16};
}

OperationPtr CudaBackend::make_operation(const NodeRequest& request) {
  const auto batch = std::size_t(request.batch);
  largest_batch_ = std::max(largest_batch_, batch);
  const bool full = request.mode == Mode::train && batch == largest_batch_;
  context_.plans->tune(tunes_ && full);
  require_known_inputs(request);
  const OperationRequest here{request, context_, full};
  const auto make = [&](const auto& kind) { return cuda::make_operation(here, kind); };
  return std::visit(make, here.self().kind);
}

std::size_t CudaBackend::buffer_bytes() const {
  return largest_batch_ * (sizeof(kernels::RowLoss) + sizeof(std::uint32_t)) +
         sizeof(std::uint64_t) + sizeof(SumScratch) + kCounters;
}

void CudaBackend::forget_plans() {
  finish();
  recordings_.clear();
  context_.packed = {};
  for (Lane* lane : {&context_.main, &context_.beside}) {
    lane->scratch = {};
    lane->scratch_bytes = kLeastScratch;
    lane->staged_bytes = 0;
  }
  context_.sums = {};
  context_.summed = {};
  largest_batch_ = 0;
  losses_ = {};
  total_ = {};
  indices_ = {};
  host_indices_ = {};
}

void CudaBackend::bind_parameters(const Graph& graph, const ParameterMemory& memory) {
  graph_ = graph;
  context_.parameters = memory;
  context_.packed.allocate(memory.values);
  for (Lane* lane : {&context_.main, &context_.beside})
    lane->scratch = make_device_memory(lane->scratch_bytes);
  check(cublasSetWorkspace(context_.cublas.get(), context_.main.scratch.get(), kLeastScratch),
        "cublasSetWorkspace");
  static_cast<void>(context_.sum_scratch());  // no step allocates
  allocate_losses(largest_batch_);
  allocate_indices(largest_batch_);
}

void CudaBackend::sum_gradients(const Graph& graph, NodeId node, int batch, std::byte* to,
                                const std::byte* a, const std::byte* b) {
  const Element element = element_of(graph.node(node), context_);
  const std::size_t count = activation_bytes(graph, node, batch) / bytes_of(element);
  add_activations(element, to, a, b, count, false, stream());
}

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options) {
  return std::make_unique<CudaBackend>(options);
}

PlanStore* plan_store(const Backend& backend) {
  const auto* cuda = dynamic_cast<const CudaBackend*>(&backend);
  return cuda == nullptr ? nullptr : &cuda->plans();
}

}  // namespace rueda::cuda
