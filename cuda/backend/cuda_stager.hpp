#pragma once

#include <array>
#include <mutex>

#include "backend/host_batch.hpp"
#include "cuda/device/device_query.hpp"
#include "cuda/device/handles.hpp"

namespace rueda::cuda {

/// Pinned host memory, and a copy stream of its own to as much memory of the
/// device, next to the compute stream. A recorded step reads its input and then
/// has other activations in that memory, so no copy from the host could go there
/// while a step computes: batches wait in device memory of their own, and one
/// copy within the device, many times faster than that over the bus, brings them
/// into the input.
class CudaStager final : public BatchStager {
 public:
  /// For the device that is current in this thread. `compute`, on which the
  /// network runs, stays the caller's.
  CudaStager(const InputFormat& format, int image_size, std::size_t batch, cudaStream_t compute);
  /// Waits for both streams before its memory goes.
  ~CudaStager() override;

  InputFormat format() const override { return format_; }
  std::byte* input(std::size_t slot) override;
  std::int32_t* labels(std::size_t slot) override;
  bool copies() const override { return true; }

  /// CUDA keeps the current device for each thread, and a worker begins with
  /// device 0. To wait for an event that was never recorded takes no time.
  void upload(std::size_t slot, std::size_t images) override;

  CopyCost wait(std::size_t slot) override;

  void deliver(std::size_t slot, std::byte* input, std::int32_t* labels) override;

  /// Bytes of one slot on the device.
  static std::size_t slot_bytes(const InputFormat& format, int image_size, std::size_t batch);

 private:
  static std::size_t bytes_of_labels(std::size_t batch);

  /// Labels first, so that those and a partial batch of images are one piece.
  struct Slot {
    PinnedMemory host;
    DeviceMemory device;
    std::size_t images = 0;
    Event begins;     ///< of the copy, on the copy stream
    Event arrived;    ///< the end of the same copy
    Event delivered;  ///< on the compute stream: `device` may be overwritten
  };

  std::size_t bytes_of(std::size_t images) const { return label_bytes_ + images * image_bytes_; }

  InputFormat format_;
  std::size_t image_bytes_;
  std::size_t label_bytes_;
  int ordinal_ = current_device();
  cudaStream_t compute_;
  Stream copies_;
  std::mutex mutex_;  ///< keeps the copy of a slot and its events together on the stream
  std::array<Slot, kSlots> slots_;
};

}  // namespace rueda::cuda
