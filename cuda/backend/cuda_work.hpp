#pragma once

#include <array>
#include <cstring>
#include <mutex>

#include "backend/host_batch.hpp"
#include "backend/memory_plan.hpp"
#include "base/clock.hpp"
#include "cuda/device/device_query.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/operations/operations.hpp"

namespace rueda::cuda {

struct GpuImages final : DeviceImages {
  DeviceMemory pixels;
  DeviceMemory labels;
};

/// Returns when the copy is done: cudaMemcpy on the default stream may return
/// earlier from memory that is not pinned, and the compute stream does not wait
/// for the default one.
inline void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                 cudaStream_t stream) {
  if (bytes == 0) return;
  queue_copy(to, from, bytes, kind, stream);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

inline DeviceMemory copy_of(std::span<const std::uint8_t> host, cudaStream_t stream) {
  DeviceMemory memory = make_device_memory(host.size());
  copy(memory.get(), host.data(), host.size(), cudaMemcpyHostToDevice, stream);
  return memory;
}

inline InputFormat input_format(Element element) {
  return {
      .bf16 = element == Element::bf16, .channels_last = true, .channels = image_channels(element)};
}

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
    wait_for(s.arrived.get());
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

/// What the backend does besides operations: memory, batches, loss, statistics, updates.
class CudaWork : public Backend {
 public:
  bool offers(Precision) const override { return true; }
  Memory allocate(std::size_t bytes) override {
    DeviceMemory memory = make_device_memory(bytes);
    if (memory) check(cudaMemsetAsync(memory.get(), 0, bytes, stream()), "cudaMemsetAsync");
    finish();
    return {memory.release(), bytes, cudaFree};
  }
  std::size_t free_memory() const override { return free_cuda_memory(); }
  std::size_t image_bytes(std::size_t images) const override {
    return images * (kImageBytes + sizeof(std::uint8_t));
  }

  std::unique_ptr<DeviceImages> hold(const ImageSet& images) override {
    auto held = std::make_unique<GpuImages>();
    held->pixels = copy_of(images.pixels, stream());
    held->labels = copy_of(images.labels, stream());
    return held;
  }

  /// The pinned indices may still be on their way to the device for the batch before.
  void make_batch(const BatchRequest& request, std::byte* input, std::int32_t* labels) override {
    check(cudaEventSynchronize(indices_copied_.get()), "cudaEventSynchronize");
    const BatchChoice& choice = request.choice;
    const std::size_t bytes = choice.indices.size_bytes();
    std::memcpy(host_indices_.get(), choice.indices.data(), bytes);
    queue_copy(indices_.get(), host_indices_.get(), bytes, cudaMemcpyHostToDevice, stream());
    check(cudaEventRecord(indices_copied_.get(), stream()), "cudaEventRecord");
    const auto& images = static_cast<const GpuImages&>(*request.images);
    const BatchSource source{.pixels = static_cast<const std::uint8_t*>(images.pixels.get()),
                             .labels = static_cast<const std::uint8_t*>(images.labels.get()),
                             .indices = static_cast<const std::uint32_t*>(indices_.get()),
                             .count = choice.indices.size()};
    const Element element = context_.element();
    const BatchTarget target{.values = input, .element = element, .labels = labels};
    cuda::make_batch(source, choice.transform, choice.seed, choice.epoch, target, stream());
  }

  std::unique_ptr<BatchStager> make_stager(int image_size, std::size_t batch) override {
    return std::make_unique<CudaStager>(input_format(context_.element()), image_size, batch,
                                        stream());
  }
  std::size_t stager_bytes(int image_size, std::size_t batch) const override {
    const InputFormat format = input_format(context_.element());
    return BatchStager::kSlots * CudaStager::slot_bytes(format, image_size, batch);
  }

  void softmax_cross_entropy(const LossRequest& r) override {
    auto* losses = static_cast<kernels::RowLoss*>(losses_.get());
    const auto rows = std::size_t(r.rows);
    cuda::softmax_cross_entropy(reinterpret_cast<const float*>(r.logits), r.labels, rows, r.classes,
                                r.scale, reinterpret_cast<float*>(r.gradient), losses, stream());
    sum_losses(losses, rows, &r.sums->loss, stream());
  }

  void write_step_sums(StepSums* to, const LossSums* sums, std::span<const float> statistics,
                       float samples, RankFlags* flags) override {
    cuda::write_step_sums(&to->loss, &sums->loss, statistics.data(), statistics.size(), samples,
                          &flags->nonfinite, context_.sum_scratch(), stream());
  }

  void sum_gradients(const Graph& graph, NodeId node, int batch, std::byte* to, const std::byte* a,
                     const std::byte* b) override {
    const Element element = element_of(graph.node(node), context_);
    const std::size_t count = activation_bytes(graph, node, batch) / bytes_of(element);
    add_activations(element, to, a, b, count, false, stream());
  }

  void sgd_update(std::span<float> values, std::span<float> velocities,
                  std::span<const float> gradients, const kernels::SgdStep& step) override {
    cuda::sgd_update(values.data(), velocities.data(), gradients.data(), values.size(), step,
                     stream());
  }

  void weigh_statistics(std::span<float> to, std::span<const float> from,
                        std::span<const float> values_per_image, float samples) override {
    cuda::weigh_statistics(to.data(), from.data(), values_per_image.data(), to.size(), samples,
                           stream());
  }

  void update_running(std::span<float> running, std::span<const float> weighted_sums, float samples,
                      float momentum) override {
    cuda::update_running(running.data(), weighted_sums.data(), running.size(), samples, momentum,
                         stream());
  }

  std::uint64_t hash(std::span<const float> values) override {
    return total_of(values, element_hash);
  }
  std::uint64_t nonfinite(std::span<const float> values) override {
    return total_of(values, cuda::nonfinite);
  }

  void zero(std::span<float> values) override {
    if (values.empty()) return;
    check(cudaMemsetAsync(values.data(), 0, values.size_bytes(), stream()), "cudaMemsetAsync");
  }
  void upload(std::span<float> device, std::span<const float> host) override {
    copy(device.data(), host.data(), host.size_bytes(), cudaMemcpyHostToDevice, stream());
  }
  void download(std::span<float> host, std::span<const float> device) override {
    copy(host.data(), device.data(), device.size_bytes(), cudaMemcpyDeviceToHost, stream());
  }
  Memory allocate_host(std::size_t bytes) override {
    return {make_pinned_memory(bytes).release(), bytes, cudaFreeHost};
  }
  bool copy_later(std::span<float> to, std::span<const float> from) override {
    queue_copy(to.data(), from.data(), from.size_bytes(), cudaMemcpyDefault, stream());
    return false;
  }
  void finish() override { check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize"); }

 protected:
  cudaStream_t stream() const { return context_.stream.get(); }

  /// What `launch` sums over all values, on the host.
  std::uint64_t total_of(std::span<const float> values, decltype(element_hash) launch) {
    auto* sum = static_cast<std::uint64_t*>(total_.get());
    launch(values.data(), values.size(), sum, stream());
    std::uint64_t result = 0;
    copy(&result, sum, sizeof result, cudaMemcpyDeviceToHost, stream());
    return result;
  }

  Context context_;
  DeviceMemory losses_;   ///< RowLoss of each row
  DeviceMemory indices_;  ///< of the batch in hand
  PinnedMemory host_indices_;
  Event indices_copied_ = make_event();
  DeviceMemory total_;  ///< one number, of total_of
};

}  // namespace rueda::cuda
