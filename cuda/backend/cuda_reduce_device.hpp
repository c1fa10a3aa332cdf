#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "cuda/backend/peer_blocks.hpp"
#include "cuda/device/handles.hpp"
#include "cuda/kernels/kernels.hpp"
#include "rueda/reduce/reduce_device.hpp"

namespace rueda::cuda {

/// CUDA events for the numbers that an all-reduce knows them by. Used again
/// once they have been waited for, so that a step creates none. Any thread may
/// call, with the device set.
class EventPool {
 public:
  /// Passes when all work queued so far on each of `streams` is done.
  rueda::Event record(std::initializer_list<cudaStream_t> streams);
  /// Looks for a moment whether `event` has passed, then sleeps until it has,
  /// and gives it up: each is waited for by one thread, and waiting again
  /// returns at once.
  void wait(rueda::Event event);
  /// How many CUDA events there are.
  std::size_t size() const;

 private:
  using Parts = std::vector<Event>;  ///< one for each stream

  Event take();

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Parts> pending_;
  Parts free_;
  std::uint64_t last_ = 0;
};

/// The all-reduce's view of a GPU. Its work goes over a stream of its own, the
/// communication stream, next to the compute stream on which the network runs:
/// so that the two overlap, and the one waits for the other only where `record`
/// and `others_wait` say so.
///
/// Any thread may use it, one at a time; recording and waiting also at the same
/// time. Each call selects the device for its thread first. Errors are
/// RunErrors.
class CudaReduceDevice final : public ReduceDevice {
 public:
  /// For the device that is current in this thread. `compute` stays the caller's.
  explicit CudaReduceDevice(cudaStream_t compute) : compute_(compute) {}
  /// Waits for its streams before its memory goes.
  ~CudaReduceDevice() override;

  void add(std::span<float> into, std::span<const float> from) override;
  void copy(std::span<float> to, std::span<const float> from) override;
  void narrow(std::span<kernels::Bfloat16> to, std::span<const float> from) override;
  void add_narrow(std::span<float> into, std::span<const kernels::Bfloat16> from) override;
  void widen(std::span<float> to, std::span<const kernels::Bfloat16> from) override;
  /// On a third stream, so that it does not wait for the additions.
  std::uint64_t check_sum(std::span<const float> values) override;
  /// The communication stream, which is waited for: what a kernel wrote is in the
  /// memory of each GPU when the host sees it end, and a kernel that begins later
  /// reads it from there.
  void sum_all(std::span<const float* const> from, std::span<float* const> to,
               std::size_t count) override;
  std::shared_ptr<float[]> make_peer_block(std::size_t count, PeerHandle& handle) override;
  std::shared_ptr<float[]> map_peer_block(const PeerHandle& theirs) override;
  /// Of both streams.
  rueda::Event record() override;
  /// Of the communication stream alone.
  rueda::Event record_own() override { return record_on(own_.get()); }
  /// Passes when what was queued so far on `stream`, one of this device, is
  /// done: a bucket of gradients that is ready before the rest of the backward
  /// pass.
  rueda::Event record_on(cudaStream_t stream);
  /// The thread sleeps if it takes longer than kLookTime. An event is waited for once.
  void wait(rueda::Event event) override;
  void others_wait() override;
  /// From cudaMalloc, so that MPI can share it between processes. Growing it waits for the device.
  std::span<float> scratch(std::size_t count) override;

  bool memory_is_on_host() const override { return false; }
  /// Pinned.
  std::span<float> host_scratch(std::size_t count) override;

  /// Makes the device current for this thread: CUDA keeps one for each, and begins with device 0.
  void select() const { check(cudaSetDevice(ordinal_), "cudaSetDevice"); }
  /// The communication stream, of a device that is current for this thread from now on.
  cudaStream_t stream() const;
  /// CUDA events made so far.
  std::size_t events() const { return events_.size(); }

 private:
  /// What check sums are made with, from the first one on.
  struct Checks {
    Stream stream = make_urgent_stream();
    DeviceMemory sum = make_device_memory(sizeof(std::uint64_t));
    PinnedMemory host = make_pinned_memory(sizeof(std::uint64_t));
  };
  /// Memory that grows on demand.
  template <typename Owner>
  struct Growing {
    Owner memory;
    std::size_t count = 0;
  };

  template <typename Owner>
  std::span<float> grown(Growing<Owner>& scratch, std::size_t count, Owner (*make)(std::size_t));

  int ordinal_ = current_device();
  cudaStream_t compute_;
  Stream own_ = make_urgent_stream();
  EventPool events_;
  Event own_tail_ = make_event();  ///< which others wait for
  Growing<DeviceMemory> scratch_;
  Growing<PinnedMemory> host_scratch_;
  std::optional<Checks> checks_;
};

}  // namespace rueda::cuda
