#include "cuda/backend/cuda_backend.hpp"

#include <cstdlib>
#include <map>
#include <variant>

#include "backend/roof.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "cuda/backend/cuda_arithmetic.hpp"
#include "cuda/backend/cuda_input.hpp"
#include "cuda/backend/cuda_reduce_device.hpp"
#include "cuda/backend/cuda_signals.hpp"
#include "cuda/backend/recording.hpp"

namespace rueda::cuda {
namespace {

/// cuBLAS' own scratch memory: with it, products on a stream are the same bits
/// every time and may be recorded.
constexpr std::size_t kCublasWorkspace = std::size_t{4} << 20U;

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

/// Whether steps are recorded into CUDA graphs: not with RUEDA_CUDA_GRAPHS=off.
/// Throws InputError for a value that is neither "on" nor "off".
bool wants_graphs() {
  const char* value = std::getenv("RUEDA_CUDA_GRAPHS");
  if (value == nullptr) return true;
  const std::string_view wanted = value;
  require(wanted == "on" || wanted == "off",
          "RUEDA_CUDA_GRAPHS=" + std::string(wanted) + ": give on or off, or unset it");
  return wanted == "on";
}

/// What operations and the backend's parts share: made first, gone last.
class SharedContext {
 protected:
  explicit SharedContext(const CudaOptions& options) {
    context_.precision = options.precision;
    context_.deterministic = options.deterministic;
    context_.stream = make_stream();
    // First: parts of cuDNN need cuBLAS' library, and find the one that is loaded.
    context_.cublas = make_cublas(stream(), options.precision);
    context_.cudnn = make_cudnn(stream());
    const PlanLimits limits{.tensor_cores = options.precision != Precision::fp32,
                            .deterministic = options.deterministic};
    context_.plans = std::make_unique<PlanStore>(CudnnTarget{context_.cudnn.get(), nullptr}, limits,
                                                 properties_of(current_device()).name);
    if (!options.plan_cache.empty()) context_.plans->keep_in(options.plan_cache);
  }

  cudaStream_t stream() const { return context_.stream.get(); }

  Context context_;
};

class CudaBackend final : private SharedContext,
                          public Backend,
                          public CudaArithmetic,
                          public CudaInput,
                          public CudaClocks,
                          public CudaAnnouncements {
 public:
  explicit CudaBackend(const CudaOptions& options)
      : SharedContext(options),
        CudaArithmetic(context_),
        CudaInput(context_),
        CudaClocks(context_),
        CudaAnnouncements(context_),
        tunes_(options.tune),
        reduce_device_(stream()) {
    context_.request_scratch(kCublasWorkspace);
  }
  /// Its memory may still be in use.
  ~CudaBackend() override { static_cast<void>(cudaStreamSynchronize(stream())); }

  PlanStore& plans() const { return *context_.plans; }

  std::string_view name() const override { return "cuda"; }
  bool offers(Precision) const override { return true; }
  std::string device() const override { return properties_of(current_device()).name; }
  ReduceDevice& reduce_device() override { return reduce_device_; }

  Graph prepare(const Graph& graph) const override { return fuse_additions(graph, kGpuFusions); }
  void replay(std::optional<std::uint64_t> key, const std::function<void()>& work) override {
    if (key && records_)
      recordings_[*key].run(stream(), work);
    else
      work();
    close_marks();
  }
  std::optional<Roof> roof() override { return roof_of(device(), context_.precision); }

  ActivationView view(const Graph& graph, NodeId node) const override {
    const Shape shape = graph.shape(node);
    const auto channels = std::size_t(shape.channels);
    return {.channels = channels,
            .pixels = std::size_t(shape.height) * std::size_t(shape.width),
            .block = channels,
            .bf16 = element_of(graph.node(node), context_) == Element::bf16};
  }

  /// Partial batches and evaluation take cuDNN's first suggestion: they are too rare to be timed.
  OperationPtr make_operation(const NodeRequest& request) override {
    const auto batch = std::size_t(request.batch);
    largest_batch_ = std::max(largest_batch_, batch);
    const bool full = request.mode == Mode::train && batch == largest_batch_;
    context_.plans->tune(tunes_ && full);
    require_known_inputs(request);
    const OperationRequest here{request, context_, full};
    const auto make = [&](const auto& kind) { return cuda::make_operation(here, kind); };
    return std::visit(make, here.self().kind);
  }

  std::size_t packed_bytes() const override { return context_.packed.bytes(); }
  std::size_t scratch_bytes() const override { return context_.scratch_bytes; }
  std::size_t buffer_bytes() const override {
    return largest_batch_ * (sizeof(kernels::RowLoss) + sizeof(std::uint32_t)) +
           sizeof(std::uint64_t) + sizeof(SumScratch) + kCounters;
  }

  /// What cuDNN compiled stays: the next plan often asks for the same, and it takes seconds.
  void forget_plans() override {
    finish();
    recordings_.clear();
    context_.packed = {};
    context_.scratch = {};
    context_.sums = {};
    context_.scratch_bytes = kCublasWorkspace;
    context_.staged_bytes = 0;
    context_.summed = {};
    largest_batch_ = 0;
    free_losses();
    free_indices();
  }

  void bind_parameters(const Graph& graph, const ParameterMemory& memory) override {
    graph_ = graph;
    context_.parameters = memory;
    context_.packed.allocate(memory.values);
    context_.scratch = make_device_memory(context_.scratch_bytes);
    check(cublasSetWorkspace(context_.cublas.get(), context_.scratch.get(), kCublasWorkspace),
          "cublasSetWorkspace");
    static_cast<void>(context_.sum_scratch());  // no step allocates
    allocate_losses(largest_batch_);
    allocate_indices(largest_batch_);
  }
  void sum_gradients(const Graph& graph, NodeId node, int batch, std::byte* to, const std::byte* a,
                     const std::byte* b) override {
    const Element element = element_of(graph.node(node), context_);
    const std::size_t count = activation_bytes(graph, node, batch) / bytes_of(element);
    add_activations(element, to, a, b, count, false, stream());
  }
  void pack_parameters() override { context_.packed.pack_all(graph_, stream()); }

 private:
  using SharedContext::context_;  // each part knows it by the same name
  using SharedContext::stream;

  bool tunes_;
  bool records_ = wants_graphs();
  CudaReduceDevice reduce_device_;
  Graph graph_;  ///< of the parameters
  std::map<std::uint64_t, Recording> recordings_;
  std::size_t largest_batch_ = 0;  ///< of any operation: rows of losses, indices
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options) {
  return std::make_unique<CudaBackend>(options);
}

PlanStore* plan_store(const Backend& backend) {
  const auto* cuda = dynamic_cast<const CudaBackend*>(&backend);
  return cuda == nullptr ? nullptr : &cuda->plans();
}

}  // namespace rueda::cuda
