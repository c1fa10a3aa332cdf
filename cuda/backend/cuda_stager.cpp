#include "cuda/backend/cuda_stager.hpp"

#include "backend/memory_plan.hpp"
#include "cuda/kernels/kernels.hpp"

namespace rueda::cuda {

CudaStager::CudaStager(const InputFormat& format, int image_size, std::size_t batch,
                       cudaStream_t compute)
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

CudaStager::~CudaStager() {
  static_cast<void>(cudaStreamSynchronize(copies_.get()));
  static_cast<void>(cudaStreamSynchronize(compute_));
}

std::byte* CudaStager::input(std::size_t slot) {
  return static_cast<std::byte*>(slots_[slot].host.get()) + label_bytes_;
}

std::int32_t* CudaStager::labels(std::size_t slot) {
  return static_cast<std::int32_t*>(slots_[slot].host.get());
}

void CudaStager::upload(std::size_t slot, std::size_t images) {
  check(cudaSetDevice(ordinal_), "cudaSetDevice");
  Slot& s = slots_[slot];
  const std::lock_guard lock(mutex_);
  s.images = images;
  check(cudaStreamWaitEvent(copies_.get(), s.delivered.get(), 0), "cudaStreamWaitEvent");
  check(cudaEventRecord(s.begins.get(), copies_.get()), "cudaEventRecord");
  queue_copy(s.device.get(), s.host.get(), bytes_of(images), cudaMemcpyHostToDevice, copies_.get());
  check(cudaEventRecord(s.arrived.get(), copies_.get()), "cudaEventRecord");
}

CopyCost CudaStager::wait(std::size_t slot) {
  const Slot& s = slots_[slot];
  wait_for(s.arrived.get());
  return {seconds_between(s.begins.get(), s.arrived.get()), bytes_of(s.images)};
}

void CudaStager::deliver(std::size_t slot, std::byte* input, std::int32_t* labels) {
  const Slot& s = slots_[slot];
  const auto* from = static_cast<const std::byte*>(s.device.get());
  check(cudaStreamWaitEvent(compute_, s.arrived.get(), 0), "cudaStreamWaitEvent");
  queue_copy(labels, from, s.images * sizeof(std::int32_t), cudaMemcpyDeviceToDevice, compute_);
  queue_copy(input, from + label_bytes_, s.images * image_bytes_, cudaMemcpyDeviceToDevice,
             compute_);
  check(cudaEventRecord(s.delivered.get(), compute_), "cudaEventRecord");
}

std::size_t CudaStager::slot_bytes(const InputFormat& format, int image_size, std::size_t batch) {
  return bytes_of_labels(batch) + batch * format.image_bytes(image_size);
}

std::size_t CudaStager::bytes_of_labels(std::size_t batch) {
  return aligned_bytes(batch * sizeof(std::int32_t));
}

}  // namespace rueda::cuda
