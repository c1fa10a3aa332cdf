#pragma once

#include <memory>
#include <optional>

#include "context.hpp"
#include "rueda/backend/backend.hpp"

namespace rueda::cpu {

struct CpuOptions {
  int threads = 1;
  std::optional<ActivationLayout> layout;  ///< what the processor prefers, unless a test says else
  Precision precision = Precision::fp32;
};

/// The version of the oneDNN library in use.
std::string onednn_version();

/// Backend on oneDNN. All work is done when a call returns.
class CpuBackend final : public HostBackend {
 public:
  /// Sets the number of OpenMP threads of this process, which oneDNN uses too. Throws InputError if
  /// the processor cannot compute in the precision.
  explicit CpuBackend(const CpuOptions& options);

  std::string_view name() const override { return "cpu"; }
  std::string device() const override;
  ReduceDevice& reduce_device() override { return *reduce_device_; }
  std::unique_ptr<Memory> allocate(std::size_t bytes) override;

  std::size_t activation_bytes(const Graph& graph, NodeId node, int batch) const override;
  std::unique_ptr<Operation> make_operation(const Graph& graph, NodeId node, int batch,
                                            Mode mode) override;
  std::size_t packed_bytes() const override { return context_.packed.bytes(); }
  std::size_t scratch_bytes() const override { return context_.scratch_bytes; }
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

 private:
  Context context_;
  std::unique_ptr<ReduceDevice> reduce_device_;
};

}  // namespace rueda::cpu
