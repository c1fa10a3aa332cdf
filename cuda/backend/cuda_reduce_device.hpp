#pragma once

#include <vector>

#include "cuda/device/event_pool.hpp"
#include "cuda/device/handles.hpp"
#include "rueda/reduce/reduce_device.hpp"

namespace rueda::cuda {

/// The all-reduce's view of a GPU. Its work goes over a stream of its own, the communication
/// stream, beside the compute stream on which the network runs: so that the two overlap, and the
/// one waits for the other only where `record` and `join` say so.
///
/// Any thread may use it, one at a time; recording and waiting also at the same time. Each call
/// selects the device for its thread first. Errors are RunErrors.
class CudaReduceDevice final : public ReduceDevice {
 public:
  /// For the device that is current in this thread. `compute` stays the caller's.
  explicit CudaReduceDevice(cudaStream_t compute);
  /// Waits for the communication stream before its memory goes.
  ~CudaReduceDevice() override;
  CudaReduceDevice(const CudaReduceDevice&) = delete;
  CudaReduceDevice& operator=(const CudaReduceDevice&) = delete;

  void add(std::span<float> into, std::span<const float> from) override;
  void copy(std::span<float> to, std::span<const float> from) override;
  void narrow(std::span<kernels::Bfloat16> to, std::span<const float> from,
              std::span<float> lost) override;
  void add_narrow(std::span<float> into, std::span<const kernels::Bfloat16> from) override;
  void widen(std::span<float> to, std::span<const kernels::Bfloat16> from) override;
  /// On a third stream, so that it does not wait for the additions.
  std::uint64_t check_sum(std::span<const float> values) override;
  std::span<float> keep(std::size_t count) override;
  /// Of both streams.
  rueda::Event record() override;
  /// Of the communication stream alone.
  rueda::Event record_own() override;
  /// Passes when what was queued so far on `stream`, one of this device, is done: a bucket of
  /// gradients that is ready before the rest of the backward pass.
  rueda::Event record_on(cudaStream_t stream);
  /// The thread sleeps meanwhile. An event is waited for once.
  void wait(rueda::Event event) override;
  void join() override;
  /// From cudaMalloc, so that MPI can share it between processes. Growing it waits for the device.
  std::span<float> scratch(std::size_t count) override;

  bool memory_is_on_host() const override { return false; }
  /// Pinned.
  std::span<float> host_scratch(std::size_t count) override;
  void to_host(std::span<float> host, std::span<const float> device) override;
  void from_host(std::span<float> device, std::span<const float> host) override;

  /// Makes the device current for this thread.
  void select() const;
  /// The communication stream.
  cudaStream_t stream() const { return own_.get(); }
  /// CUDA events made so far.
  std::size_t events() const { return events_.size(); }

 private:
  /// What check sums are made with, from the first one on.
  struct Checks {
    Stream stream;
    DeviceMemory sum;
    PinnedMemory host;
  };

  void open_checks();
  void move(std::span<float> to, std::span<const float> from, cudaMemcpyKind kind);

  int ordinal_ = 0;
  cudaStream_t compute_;
  Stream own_;
  EventPool events_;
  Event compute_tail_;  ///< of the last join
  Event own_tail_;
  DeviceMemory scratch_;
  std::size_t scratch_count_ = 0;
  PinnedMemory host_scratch_;
  std::size_t host_scratch_count_ = 0;
  std::vector<DeviceMemory> kept_;
  Checks checks_;
};

}  // namespace rueda::cuda
