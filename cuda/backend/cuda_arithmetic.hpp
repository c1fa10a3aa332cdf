#pragma once

#include "cuda/kernels/kernels.hpp"
#include "cuda/operations/operations.hpp"
#include "rueda/backend/arithmetic.hpp"

namespace rueda::cuda {

/// Returns when the copy is done: cudaMemcpy on the default stream may return
/// earlier from memory that is not pinned, and the compute stream does not wait
/// for the default one.
void copy_now(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
              cudaStream_t stream);

/// Memory of a GPU, and own kernels on the compute stream.
class CudaArithmetic : public virtual Arithmetic {
 public:
  /// Keeps the reference.
  explicit CudaArithmetic(Context& context) : context_(context) {}

  Memory allocate(std::size_t bytes) override;
  std::size_t free_memory() const override;
  void softmax_cross_entropy(const LossRequest& r) override;

  void write_step_sums(StepSums* to, const LossSums* sums, std::span<const float> statistics,
                       float samples, RankFlags* flags) override;

  void sgd_update(std::span<float> values, std::span<float> velocities,
                  std::span<const float> gradients, const kernels::SgdStep& step) override;

  void weigh_statistics(std::span<float> to, std::span<const float> from,
                        std::span<const float> values_per_image, float samples) override;

  void update_running(std::span<float> running, std::span<const float> weighted_sums, float samples,
                      float momentum) override;

  std::uint64_t hash(std::span<const float> values) override;
  std::uint64_t nonfinite(std::span<const float> values) override;

  void zero(std::span<float> values) override;
  void upload(std::span<float> device, std::span<const float> host) override;
  void download(std::span<float> host, std::span<const float> device) override;
  Memory allocate_host(std::size_t bytes) override;
  bool copy_later(std::span<float> to, std::span<const float> from) override;
  void finish() override { check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize"); }

 protected:
  /// Memory for the losses of up to `rows` rows, and for sums. No step allocates.
  void allocate_losses(std::size_t rows);
  void free_losses() {
    losses_ = {};
    total_ = {};
  }

 private:
  cudaStream_t stream() const { return context_.stream.get(); }
  /// What `launch` sums over all values, on the host.
  std::uint64_t total_of(std::span<const float> values, decltype(element_hash) launch);

  Context& context_;
  DeviceMemory losses_;  ///< RowLoss of each row
  DeviceMemory total_;   ///< one number, of total_of
};

}  // namespace rueda::cuda
