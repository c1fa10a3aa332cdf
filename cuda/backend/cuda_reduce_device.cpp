#include "cuda_reduce_device.hpp"

#include <utility>

namespace rueda::cuda {

rueda::Event EventPool::record(std::initializer_list<cudaStream_t> streams) {
  const std::lock_guard lock(mutex_);
  Parts parts;
  for (const cudaStream_t stream : streams) {
    parts.push_back(take());
    check(cudaEventRecord(parts.back().get(), stream), "cudaEventRecord");
  }
  pending_.emplace(++last_, std::move(parts));
  return {last_};
}

std::vector<cudaEvent_t> EventPool::parts_of(rueda::Event event) const {
  const std::lock_guard lock(mutex_);
  std::vector<cudaEvent_t> raw;
  const auto found = pending_.find(event.id);
  if (found == pending_.end()) return raw;
  for (const Event& part : found->second) raw.push_back(part.get());
  return raw;
}

void EventPool::wait(rueda::Event event) {
  // Not under the lock: others record and wait meanwhile.
  for (const cudaEvent_t part : parts_of(event))
    check(cudaEventSynchronize(part), "cudaEventSynchronize");
  const std::lock_guard lock(mutex_);
  auto node = pending_.extract(event.id);
  if (node.empty()) return;
  for (Event& part : node.mapped()) free_.push_back(std::move(part));
}

CudaReduceDevice::CudaReduceDevice(cudaStream_t compute)
    : compute_(compute),
      own_(make_urgent_stream()),
      compute_tail_(make_event()),
      own_tail_(make_event()) {
  check(cudaGetDevice(&ordinal_), "cudaGetDevice");
}

CudaReduceDevice::~CudaReduceDevice() {
  static_cast<void>(cudaSetDevice(ordinal_));
  static_cast<void>(cudaStreamSynchronize(own_.get()));
  if (checks_) static_cast<void>(cudaStreamSynchronize(checks_->stream.get()));
}

void CudaReduceDevice::move(std::span<float> to, std::span<const float> from, cudaMemcpyKind kind) {
  if (from.empty()) return;
  check(cudaMemcpyAsync(to.data(), from.data(), from.size_bytes(), kind, stream()),
        "cudaMemcpyAsync");
}

std::uint64_t CudaReduceDevice::check_sum(std::span<const float> values) {
  select();
  if (!checks_) checks_.emplace();
  cudaStream_t stream = checks_->stream.get();
  auto* sum = static_cast<std::uint64_t*>(checks_->sum.get());
  auto* host = static_cast<std::uint64_t*>(checks_->host.get());
  check(message_check(values.data(), values.size(), sum, stream), "message_check");
  check(cudaMemcpyAsync(host, sum, sizeof *sum, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  wait(record_on(stream));
  return *host;
}

std::span<float> CudaReduceDevice::keep(std::size_t count) {
  select();
  void* memory = kept_.emplace_back(make_device_memory(count * sizeof(float))).get();
  check(cudaMemsetAsync(memory, 0, count * sizeof(float), own_.get()), "cudaMemsetAsync");
  return {static_cast<float*>(memory), count};
}

void CudaReduceDevice::join() {
  select();
  check(cudaEventRecord(compute_tail_.get(), compute_), "cudaEventRecord");
  check(cudaEventRecord(own_tail_.get(), own_.get()), "cudaEventRecord");
  check(cudaStreamWaitEvent(own_.get(), compute_tail_.get(), 0), "cudaStreamWaitEvent");
  check(cudaStreamWaitEvent(compute_, own_tail_.get(), 0), "cudaStreamWaitEvent");
}

}  // namespace rueda::cuda
