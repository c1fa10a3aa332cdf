#pragma once

#include "backend/host_batch.hpp"
#include "cuda/operations/operations.hpp"
#include "rueda/backend/batch_input.hpp"

namespace rueda::cuda {

/// Batches that a kernel makes from images on the device, or that a stager brings.
class CudaInput : public virtual BatchInput {
 public:
  /// Keeps the reference.
  explicit CudaInput(const Context& context) : context_(context) {}

  std::size_t image_bytes(std::size_t images) const override;

  std::unique_ptr<DeviceImages> hold(const ImageSet& images) override;

  /// The pinned indices may still be on their way to the device for the batch before.
  void make_batch(const BatchRequest& request, std::byte* input, std::int32_t* labels) override;

  std::unique_ptr<BatchStager> make_stager(int image_size, std::size_t batch) override;
  std::size_t stager_bytes(int image_size, std::size_t batch) const override;

 protected:
  /// Memory for the indices of up to `batch` images. No step allocates.
  void allocate_indices(std::size_t batch);
  void free_indices() {
    indices_ = {};
    host_indices_ = {};
  }

 private:
  cudaStream_t stream() const { return context_.stream.get(); }

  const Context& context_;
  DeviceMemory indices_;  ///< of the batch in hand
  PinnedMemory host_indices_;
  Event indices_copied_ = make_event();
};

}  // namespace rueda::cuda
