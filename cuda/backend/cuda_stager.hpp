#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <cuda_runtime_api.h>

#include "cuda/device/handles.hpp"
#include "rueda/backend/host_batch.hpp"
#include "rueda/backend/memory_plan.hpp"

namespace rueda::cuda {

/// Pinned host memory, and a copy stream of its own to as much memory of the
/// device, next to the compute stream. A recorded step reads its input until
/// its last convolution has its weight gradient, so no copy from the host could
/// go there while a step computes: batches wait in device memory of their own,
/// and one copy within the device, many times faster than that over the bus,
/// brings them into the input.
class CudaStager final : public BatchStager {
 public:
  /// For the device that is current in this thread. `compute`, on which the
  /// network runs, stays the caller's.
  CudaStager(const InputFormat& format, int image_size, std::size_t batch, cudaStream_t compute)
      : format_(format),
        image_bytes_(format.image_bytes(image_size)),
        label_bytes_(bytes_of_labels(batch)),
        compute_(compute),
        copies_(make_stream()) {
    const std::size_t bytes = slot_bytes(format, image_size, batch);
    for (Slot& slot : slots_) {
      slot.host = make_pinned_memory(bytes);
      slot.device = make_device_memory(bytes);
      slot.begins = make_timing_event();
      slot.arrived = make_event_with(cudaEventBlockingSync);  // timed, and slept for
      slot.delivered = make_event();
    }
  }
  /// Waits for both streams before its memory goes.
  ~CudaStager() override {
    static_cast<void>(cudaStreamSynchronize(copies_.get()));
    static_cast<void>(cudaStreamSynchronize(compute_));
  }

  InputFormat format() const override { return format_; }
  std::byte* input(std::size_t slot) override {
    return static_cast<std::byte*>(slots_[slot].host.get()) + label_bytes_;
  }
  std::int32_t* labels(std::size_t slot) override {
    return static_cast<std::int32_t*>(slots_[slot].host.get());
  }
  bool copies() const override { return true; }

  /// CUDA keeps the current device for each thread, and a worker begins with
  /// device 0. To wait for an event that was never recorded takes no time.
  void upload(std::size_t slot, std::size_t images) override {
    check(cudaSetDevice(ordinal_), "cudaSetDevice");
    Slot& s = slots_[slot];
    const std::lock_guard lock(mutex_);
    s.images = images;
    check(cudaStreamWaitEvent(copies_.get(), s.delivered.get(), 0), "cudaStreamWaitEvent");
    check(cudaEventRecord(s.begins.get(), copies_.get()), "cudaEventRecord");
    queue_copy(s.device.get(), s.host.get(), bytes_of(images), cudaMemcpyHostToDevice,
               copies_.get());
    check(cudaEventRecord(s.arrived.get(), copies_.get()), "cudaEventRecord");
  }

  CopyCost wait(std::size_t slot) override {
    const Slot& s = slots_[slot];
    check(cudaEventSynchronize(s.arrived.get()), "cudaEventSynchronize");
    return {seconds_between(s.begins.get(), s.arrived.get()), bytes_of(s.images)};
  }

  void deliver(std::size_t slot, std::byte* input, std::int32_t* labels) override {
    const Slot& s = slots_[slot];
    const auto* from = static_cast<const std::byte*>(s.device.get());
    check(cudaStreamWaitEvent(compute_, s.arrived.get(), 0), "cudaStreamWaitEvent");
    queue_copy(labels, from, s.images * sizeof(std::int32_t), cudaMemcpyDeviceToDevice, compute_);
    queue_copy(input, from + label_bytes_, s.images * image_bytes_, cudaMemcpyDeviceToDevice,
               compute_);
    check(cudaEventRecord(s.delivered.get(), compute_), "cudaEventRecord");
  }

  /// Bytes of one slot on the device.
  static std::size_t slot_bytes(const InputFormat& format, int image_size, std::size_t batch) {
    return bytes_of_labels(batch) + batch * format.image_bytes(image_size);
  }

 private:
  static std::size_t bytes_of_labels(std::size_t batch) {
    return aligned_bytes(batch * sizeof(std::int32_t));
  }

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
