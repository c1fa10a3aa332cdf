#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "backend/launches.hpp"
#include "base/split.hpp"
#include "cuda/cudnn/cudnn_plan.hpp"
#include "cuda/device/handles.hpp"
#include "cuda/kernels/kernels.hpp"
#include "model/gpu_fusion.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::cuda {

/// Convolution weights and their gradients as kernels have them. fp32 ones are
/// read and written where they lie in the arenas; for bf16 there is a copy of
/// each arena, tensor by tensor at the same places; weights that windows of the
/// image are multiplied by have a copy of their own, with zeros for theirs.
/// Gradients in bf16 are converted into the arena, unless they are left for the
/// update.
class PackedWeights {
 public:
  /// Convolution weights `id` will be read as `element`, a row of the kernel for each of `windows`,
  /// if there are any.
  void request(const Graph& graph, ParameterId id, Element element,
               const std::optional<kernels::RowWindows>& windows);
  /// Bytes of all that was requested.
  std::size_t bytes() const;

  /// After the last request. `values` is the parameter arena.
  void allocate(std::span<const float> values);
  /// Renews all copies of weights.
  void pack_all(const Graph& graph, cudaStream_t stream);
  /// Renews those that lie apart from the arena's copy.
  void pack_padded(const Graph& graph, cudaStream_t stream);
  /// Where the arena's copy has this value; null where there is none, or of another array.
  kernels::Bfloat16* copy_of(const float* value) const;
  const void* at(const Graph& graph, ParameterId id) const;

  /// Where the bf16 gradient is computed; not of weights for windows.
  kernels::Bfloat16* gradient_at(const Graph& graph, ParameterId id) const {
    return mirror(gradients_) + graph.parameter(id).offset;
  }
  /// Whether gradients are left in bf16 from here on.
  void leave_gradients(bool left) { left_ = left; }
  /// It is computed: the next `unpack_gradients` converts it.
  void gradient_computed(const Graph& graph, ParameterId id);
  /// Converts them into `arena`, all in one launch, as a rule.
  void unpack_gradients(float* arena, cudaStream_t stream);
  /// Those that are left, of the elements `part` of the arena.
  NarrowGradients left_gradients(Range part) const;

 private:
  struct Padded {
    Element element = Element::fp32;
    std::size_t rows = 0;
    int values = 0;  ///< of a row
    int stored = 0;
    DeviceMemory memory;
    std::size_t bytes() const { return rows * std::size_t(stored) * bytes_of(element); }
  };

  kernels::Bfloat16* mirror(const DeviceMemory& memory) const {
    return static_cast<kernels::Bfloat16*>(memory.get()) + lead_;
  }

  std::map<ParameterId, Padded> padded_;
  std::size_t mirrored_ = 0;  ///< elements of the arena's copy; 0: none
  std::size_t lead_ = 0;      ///< of these before the first, as in the arena, for alignment
  DeviceMemory mirror_;
  DeviceMemory gradients_;                     ///< of the same size
  std::map<std::size_t, std::size_t> narrow_;  ///< of these: where a tensor begins, and its length
  std::vector<Slice> computed_;                ///< not yet converted
  bool left_ = false;
  std::span<const float> values_;
};

/// Throws the RunError that belongs to a failed cuBLAS call.
void check(cublasStatus_t status, const char* call,
           std::source_location place = std::source_location::current());

using CublasHandle = Handle<cublasHandle_t, cublasDestroy>;

/// A stream, and scratch memory that its operations share: the use of one ends before the next.
struct Lane {
  Stream stream;
  std::size_t scratch_bytes = 0;  ///< the most that any operation asked for
  std::size_t staged_bytes = 0;   ///< the most that any stages there, before its workspace
  DeviceMemory scratch;

  void request_scratch(std::size_t workspace, std::size_t staged = 0) {
    scratch_bytes = std::max(scratch_bytes, staged + workspace);
    staged_bytes = std::max(staged_bytes, staged);
  }
  /// What every operation has for a workspace, once all have asked.
  std::size_t workspace_room() const { return scratch_bytes - staged_bytes; }
};

/// What all operations of a backend share.
struct Context {
  Precision precision = Precision::fp32;
  bool deterministic = false;
  Lane main;          ///< the compute stream
  Lane beside;        ///< weight gradients, from `fork` to `join`
  CudnnHandle cudnn;  ///< on the compute stream
  CublasHandle cublas;
  std::unique_ptr<PlanStore> plans;
  PackedWeights packed;
  ParameterMemory parameters;
  /// Batch norms in training, by batch size, that find the sums of their
  /// channels in place of their statistics: the convolution that they read
  /// leaves them there.
  std::set<std::pair<int, NodeId>> summed;
  DeviceMemory sums;  ///< a SumScratch, of the compute stream's
  Event forked, joined;

  /// What is queued beside from now on comes after all that is queued on the compute stream. In a
  /// recording this takes the second stream in, and `join` brings it back.
  void fork() { order(main, forked, beside); }
  /// What is queued on the compute stream from now on comes after all that is queued beside.
  void join() { order(beside, joined, main); }
  SumScratch* sum_scratch() {
    if (!sums) {
      sums = make_device_memory(sizeof(SumScratch));
      check(cudaMemsetAsync(sums.get(), 0, sizeof(SumScratch), main.stream.get()),
            "cudaMemsetAsync");
    }
    return static_cast<SumScratch*>(sums.get());
  }

  /// Of activations before the global pooling.
  Element element() const { return precision == Precision::bf16 ? Element::bf16 : Element::fp32; }
  float* value(const Graph& graph, ParameterId id) const {
    return parameters.values.data() + graph.parameter(id).offset;
  }
  float* gradient(const Graph& graph, ParameterId id) const {
    return parameters.gradients.data() + graph.parameter(id).offset;
  }

 private:
  static void order(const Lane& first, const Event& between, const Lane& second) {
    check(cudaEventRecord(between.get(), first.stream.get()), "cudaEventRecord");
    check(cudaStreamWaitEvent(second.stream.get(), between.get(), 0), "cudaStreamWaitEvent");
  }
};

/// What a node's output is kept in: everything after the global pooling is fp32.
inline Element element_of(const Node& node, const Context& context) {
  return is_bf16(node, context.precision) ? Element::bf16 : Element::fp32;
}

/// What an operation is made from. The context outlives it.
struct OperationRequest : NodeRequest {
  Context& context;
  /// A full batch of training: worth what takes time to compile.
  bool full = false;

  bool has_residual() const { return self().inputs.size() == 2; }
  Element element() const { return element_of(self(), context); }
  cudaStream_t stream() const { return context.main.stream.get(); }
  ImageShape shape_of(NodeId id) const {
    const Shape s = graph.shape(id);
    return {batch, s.channels, s.height, s.width};
  }
  /// Pixels of the whole batch: the rows of an activation seen as a matrix.
  std::size_t rows_of(NodeId id) const {
    const ImageShape s = shape_of(id);
    return std::size_t(s.images) * std::size_t(s.height) * std::size_t(s.width);
  }
  /// Numbers in the output.
  std::size_t outputs() const { return rows_of(node) * std::size_t(self().output.channels); }
};

/// An operation that does the launches of its node, one after the other.
class PlannedOperation : public Operation {
 public:
  explicit PlannedOperation(const OperationRequest& r) : r_(r), launches_(r, r.context.precision) {}

  OperationNeeds needs() const override { return launches_.needs(); }
  void bind(const OperationMemory& memory) override;
  void forward() override { launch_all(forward_); }
  void recompute() override { launch_all(recompute_); }
  void backward() override { launch_all(backward_); }

 protected:
  virtual void launch(const Launch& launch) = 0;
  /// Of a tensor that is no activation.
  virtual void* place_of(Tensor tensor) const = 0;
  /// What the convolution has in its epilogue: this one, or the one that a batch norm reads.
  virtual Epilogue epilogue() const { return Epilogue::none; }

  void launch_all(const std::vector<Launch>& launches) {
    for (const Launch& one : launches) launch(one);
  }
  /// Null if the launch does not use it.
  void* at(const Launch& launch, Tensor tensor) const {
    return launch.uses(tensor) ? place(tensor) : nullptr;
  }
  float* floats(const Launch& launch, Tensor tensor) const {
    return static_cast<float*>(at(launch, tensor));
  }

  OperationRequest r_;
  NodeLaunches launches_;
  std::vector<Launch> forward_, recompute_, backward_;

 private:
  void* place(Tensor tensor) const;

  OperationMemory memory_;
};

// Operations by the kind of their node. They take their inputs for usual
// activations; a convolution may read the image.
using OperationPtr = std::unique_ptr<Operation>;
inline OperationPtr make_operation(const OperationRequest&, const InputNode&) { return nullptr; }
OperationPtr make_operation(const OperationRequest& request, const ConvNode& conv);
OperationPtr make_operation(const OperationRequest& request, const BatchNormNode& norm);
OperationPtr make_operation(const OperationRequest& request, const AddNode& add);
OperationPtr make_operation(const OperationRequest& request, const MaxPoolNode& pool);
OperationPtr make_operation(const OperationRequest& request, const PadShortcutNode& pad);
OperationPtr make_operation(const OperationRequest& request, const GlobalAveragePoolNode& pool);
OperationPtr make_operation(const OperationRequest& request, const DenseNode& dense);

}  // namespace rueda::cuda
