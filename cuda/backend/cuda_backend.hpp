#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "context.hpp"
#include "cuda_reduce_device.hpp"
#include "recording.hpp"
#include "rueda/backend/backend.hpp"

namespace rueda::cuda {

struct CudaOptions {
  Precision precision = Precision::fp32;
  bool deterministic = false;  ///< only engines that give the same bits every time
  bool tune = false;           ///< times engines for what `use_engines` does not name
};

/// Backend on cuDNN, cuBLAS and own kernels, for the device that is current in the calling thread.
/// Work is queued on one stream; what returns numbers waits for it. Activations lie with their
/// channels innermost.
class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const CudaOptions& options);
  ~CudaBackend() override;

  std::string_view name() const override { return "cuda"; }
  std::string device() const override;
  ReduceDevice& reduce_device() override { return *reduce_device_; }
  std::unique_ptr<Memory> allocate(std::size_t bytes) override;
  std::size_t free_memory() const override;

  Graph prepare(const Graph& graph) const override;
  void replay(std::uint64_t key, const std::function<void()>& work) override;
  void begin_range(const char* name) override;
  void end_range() override;
  void mark(Mark mark) override;
  ComputeSeconds compute_seconds() override;
  void announce(std::size_t bucket) override;
  std::uint64_t announced(std::size_t bucket) const override;

  std::size_t activation_bytes(const Graph& graph, NodeId node, int batch) const override;
  std::unique_ptr<Operation> make_operation(const Graph& graph, NodeId node, int batch,
                                            Mode mode) override;
  std::size_t packed_bytes() const override { return context_.packed.bytes(); }
  std::size_t scratch_bytes() const override { return context_.scratch_bytes; }
  std::size_t buffer_bytes() const override;
  std::size_t image_bytes(std::size_t images) const override;
  void forget_plans() override;
  void bind_parameters(const Graph& graph, const ParameterMemory& memory) override;
  void pack_parameters() override;

  std::unique_ptr<DeviceImages> hold(const ImageSet& images) override;
  void make_batch(const BatchRequest& request, std::byte* input, std::int32_t* labels) override;
  std::unique_ptr<BatchStager> make_stager(int image_size, std::size_t batch) override;
  std::size_t stager_bytes(int image_size, std::size_t batch) const override;
  void softmax_cross_entropy(const LossRequest& request) override;
  void write_step_sums(StepSums* to, const LossSums* sums, std::span<const float> statistics,
                       float samples, RankFlags* flags) override;
  void sum_gradients(const Graph& graph, NodeId node, int batch, std::byte* to, const std::byte* a,
                     const std::byte* b) override;
  void sgd_update(std::span<float> values, std::span<float> velocities,
                  std::span<const float> gradients, const kernels::SgdStep& step) override;
  void weigh_statistics(std::span<float> to, std::span<const float> from,
                        std::span<const float> values_per_image, float samples) override;
  void update_running(std::span<float> running, std::span<const float> weighted_sums, float samples,
                      float momentum) override;
  std::uint64_t hash(std::span<const float> values) override;

  void write_activation(const Graph& graph, NodeId node, int batch, std::span<const float> nchw,
                        std::byte* activation) override;
  void read_activation(const Graph& graph, NodeId node, int batch, const std::byte* activation,
                       std::span<float> nchw) override;
  void zero(std::span<float> values) override;
  void upload(std::span<float> device, std::span<const float> host) override;
  void download(std::span<float> host, std::span<const float> device) override;
  void finish() override;

  /// For what is planned from now on, by what it computes.
  void use_engines(EngineChoices engines) { context_.plans->use(std::move(engines)); }
  /// Every engine in use, by what it computes.
  const EngineChoices& engines() const { return context_.plans->engines(); }

 private:
  cudaStream_t stream() const { return context_.stream.get(); }
  void tune(bool full);
  void close_phase();

  bool tunes_;
  Context context_;
  std::unique_ptr<CudaReduceDevice> reduce_device_;
  Graph graph_;  ///< of the parameters
  StreamMarks marks_;
  PinnedMemory announcements_;  ///< kMostBuckets counters, which the device writes
  bool in_phase_ = false;       ///< a range of a mark is open
  std::map<std::uint64_t, Recording> recordings_;
  std::size_t largest_batch_ = 0;  ///< of any operation: rows of losses, indices
  DeviceMemory losses_;            ///< RowLoss of each row
  DeviceMemory indices_;           ///< of the batch in hand
  PinnedMemory host_indices_;
  DeviceMemory hash_;
};

}  // namespace rueda::cuda
