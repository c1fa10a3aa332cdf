#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cuda/backend/cuda_backend.hpp"
#include "cuda/backend/cuda_reduce_device.hpp"
#include "cuda/backend/recording.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/operations/operations.hpp"
#include "rueda/backend/backend.hpp"

namespace rueda::cuda {

/// Returns when the copy is done: cudaMemcpy on the default stream may return
/// earlier from memory that is not pinned, and the compute stream does not wait
/// for the default one.
void copy_now(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
              cudaStream_t stream);

/// One class in several sources: cuda_backend.cpp has the layers and their
/// plans, and the other sources of its name what the comments below say.
class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const CudaOptions& options);
  /// Its memory may still be in use.
  ~CudaBackend() override {
    for (const Lane* lane : {&context_.main, &context_.beside})
      static_cast<void>(cudaStreamSynchronize(lane->stream.get()));
  }

  PlanStore& plans() const { return *context_.plans; }

  std::string_view name() const override { return "cuda"; }
  bool offers(Precision) const override { return true; }
  std::string device() const override;
  ReduceDevice& reduce_device() override { return reduce_device_; }

  Graph prepare(const Graph& graph) const override;
  void replay(std::optional<std::uint64_t> key, const std::function<void()>& work) override;
  std::optional<Roof> roof() override;

  ActivationView view(const Graph& graph, NodeId node) const override;
  /// Partial batches and evaluation take cuDNN's first suggestion: they are too rare to be timed.
  std::unique_ptr<Operation> make_operation(const NodeRequest& request) override;
  std::size_t packed_bytes() const override { return context_.packed.bytes(); }
  std::size_t scratch_bytes() const override {
    return context_.main.scratch_bytes + context_.beside.scratch_bytes;
  }
  std::size_t buffer_bytes() const override;
  /// What cuDNN compiled stays: the next plan often asks for the same, and it takes seconds.
  void forget_plans() override;
  void bind_parameters(const Graph& graph, const ParameterMemory& memory) override;
  void sum_gradients(const Graph& graph, NodeId node, int batch, std::byte* to, const std::byte* a,
                     const std::byte* b) override;
  void leave_gradients(bool left) override { context_.packed.leave_gradients(left); }
  void complete_gradients() override {
    context_.packed.unpack_gradients(context_.parameters.gradients.data(), stream());
  }
  void pack_parameters() override { context_.packed.pack_all(graph_, stream()); }
  void pack_updated() override { context_.packed.pack_padded(graph_, stream()); }

  // cuda_arithmetic.cpp: memory of the GPU, and own kernels on the compute stream.

  Memory allocate(std::size_t bytes) override;
  std::size_t free_memory() const override;
  void softmax_cross_entropy(const LossRequest& r) override;

  void write_step_sums(StepSums* to, const LossSums* sums, std::span<const float> statistics,
                       float samples, RankFlags* flags) override;

  void sgd_update(std::span<float> values, std::span<float> velocities,
                  std::span<const float> gradients, const kernels::SgdStep& step) override;

  void lars_update(const LarsSlice& slice, const kernels::LarsStep& step) override;
  void weigh_statistics(std::span<float> to, std::span<const float> from,
                        std::span<const float> values_per_image, float samples) override;

  void update_running(std::span<float> running, std::span<const float> weighted_sums, float samples,
                      float momentum) override;

  std::uint64_t hash(std::span<const float> values) override;
  std::uint64_t nonfinite(std::span<const float> values) override;
  void square_sums(std::span<const float> values, std::span<const std::size_t> ends,
                   std::span<double> to) override;
  void write_part_squares(StepSums* to, std::span<const double> squares, float images,
                          RankFlags* flags) override;

  void zero(std::span<float> values) override;
  void upload(std::span<float> device, std::span<const float> host) override;
  void download(std::span<float> host, std::span<const float> device) override;
  Memory allocate_host(std::size_t bytes) override;
  bool copy_later(std::span<float> to, std::span<const float> from) override;
  void finish() override { check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize"); }

  // cuda_input.cpp: batches that a kernel makes from images on the device, or that a stager brings.

  std::size_t image_bytes(std::size_t images) const override;

  std::unique_ptr<DeviceImages> hold(const ImageSet& images) override;

  /// The pinned indices may still be on their way to the device for the batch before.
  void make_batch(const BatchRequest& request, std::byte* input, std::int32_t* labels) override;

  std::unique_ptr<BatchStager> make_stager(int image_size, std::size_t batch) override;
  std::size_t stager_bytes(int image_size, std::size_t batch) const override;

  // cuda_signals.cpp: moments of the compute stream, by events, and counters in
  // the host's memory, which the device writes.

  /// Without a profiler, or where the toolkit has no NVTX, nothing happens.
  void begin_range(const char* name) override;
  void end_range() override;
  void mark(Mark mark) override { marks_.set(mark, stream()); }
  ComputeSeconds compute_seconds() override { return marks_.seconds(); }
  void tick() override;
  std::vector<double> take_ticks() override;
  /// A kernel on one thread: it writes to host memory, so that is seen while the rest still runs.
  void announce(std::size_t bucket) override;
  std::uint64_t announced(std::size_t bucket) const override;

 private:
  static constexpr std::size_t kCounters = kMostBuckets * sizeof(std::uint64_t);  ///< bytes

  cudaStream_t stream() const { return context_.main.stream.get(); }
  /// Memory for the losses of up to `rows` rows, and for sums. No step allocates.
  void allocate_losses(std::size_t rows);
  /// Memory for the indices of up to `batch` images. No step allocates.
  void allocate_indices(std::size_t batch);
  /// What `launch` sums over all values, on the host.
  std::uint64_t total_of(std::span<const float> values, decltype(element_hash) launch);
  std::uint64_t* announcements() const { return static_cast<std::uint64_t*>(announcements_.get()); }

  Context context_;  ///< made first, gone last
  bool tunes_;
  bool records_;
  CudaReduceDevice reduce_device_;
  Graph graph_;  ///< of the parameters
  std::map<std::uint64_t, Recording> recordings_;
  std::size_t largest_batch_ = 0;  ///< of any operation: rows of losses, indices

  DeviceMemory losses_;  ///< RowLoss of each row
  DeviceMemory total_;   ///< one number, of total_of

  DeviceMemory indices_;  ///< of the batch in hand
  PinnedMemory host_indices_;
  Event indices_copied_ = make_event();

  StreamMarks marks_;
  std::vector<Event> ticks_;
  std::size_t ticked_ = 0;                                      ///< of these, since they were taken
  DeviceMemory counts_ = make_device_memory(kCounters);         ///< of announcements, by bucket
  PinnedMemory announcements_ = make_pinned_memory(kCounters);  ///< the same, as the host sees it
};

}  // namespace rueda::cuda
