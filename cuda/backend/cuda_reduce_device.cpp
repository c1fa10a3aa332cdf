#include "cuda/backend/cuda_reduce_device.hpp"

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

void EventPool::wait(rueda::Event event) {
  std::unique_lock lock(mutex_);
  auto node = pending_.extract(event.id);
  if (node.empty()) return;
  lock.unlock();  // others record and wait meanwhile
  for (const Event& part : node.mapped()) wait_for(part.get());
  lock.lock();
  for (Event& part : node.mapped()) free_.push_back(std::move(part));
}

std::size_t EventPool::size() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = free_.size();
  for (const auto& [id, parts] : pending_) sum += parts.size();
  return sum;
}

Event EventPool::take() {
  if (free_.empty()) return make_sleepy_event();
  Event event = std::move(free_.back());
  free_.pop_back();
  return event;
}

CudaReduceDevice::~CudaReduceDevice() {
  static_cast<void>(cudaSetDevice(ordinal_));
  static_cast<void>(cudaStreamSynchronize(own_.get()));
  if (checks_) static_cast<void>(cudaStreamSynchronize(checks_->stream.get()));
}

void CudaReduceDevice::add(std::span<float> into, std::span<const float> from) {
  accumulate(into.data(), from.data(), into.size(), stream());
}

void CudaReduceDevice::copy(std::span<float> to, std::span<const float> from) {
  if (from.empty()) return;
  queue_copy(to.data(), from.data(), from.size_bytes(), cudaMemcpyDefault, stream());
}

void CudaReduceDevice::narrow(std::span<kernels::Bfloat16> to, std::span<const float> from) {
  to_bf16(to.data(), from.data(), to.size(), stream());
}

void CudaReduceDevice::add_narrow(std::span<float> into, std::span<const kernels::Bfloat16> from) {
  add_bf16(into.data(), from.data(), into.size(), stream());
}

void CudaReduceDevice::widen(std::span<float> to, std::span<const kernels::Bfloat16> from) {
  to_fp32(to.data(), from.data(), to.size(), stream());
}

std::uint64_t CudaReduceDevice::check_sum(std::span<const float> values) {
  select();
  if (!checks_) checks_.emplace();
  cudaStream_t stream = checks_->stream.get();
  auto* sum = static_cast<std::uint64_t*>(checks_->sum.get());
  auto* host = static_cast<std::uint64_t*>(checks_->host.get());
  message_check(values.data(), values.size(), sum, stream);
  queue_copy(host, sum, sizeof *sum, cudaMemcpyDeviceToHost, stream);
  wait(record_on(stream));
  return *host;
}

void CudaReduceDevice::sum_all(std::span<const float* const> from, std::span<float* const> to,
                               std::size_t count) {
  peer_sum(from, to, count, stream());
  wait(record_own());
}

std::shared_ptr<float[]> CudaReduceDevice::make_peer_block(std::size_t count, PeerHandle& handle) {
  select();
  auto block = export_block(count, handle);
  check(cudaMemsetAsync(block.get(), 0, count * sizeof(float), own_.get()), "cudaMemsetAsync");
  wait(record_own());
  return block;
}

std::shared_ptr<float[]> CudaReduceDevice::map_peer_block(const PeerHandle& theirs) {
  select();
  return import_block(theirs);
}

rueda::Event CudaReduceDevice::record() {
  select();
  return events_.record({compute_, own_.get()});
}

rueda::Event CudaReduceDevice::record_on(cudaStream_t stream) {
  select();
  return events_.record({stream});
}

void CudaReduceDevice::wait(rueda::Event event) {
  select();
  events_.wait(event);
}

void CudaReduceDevice::others_wait() {
  select();
  check(cudaEventRecord(own_tail_.get(), own_.get()), "cudaEventRecord");
  check(cudaStreamWaitEvent(compute_, own_tail_.get(), 0), "cudaStreamWaitEvent");
}

/// Waits for the device before memory goes that it may still use.
template <typename Owner>
std::span<float> CudaReduceDevice::grown(Growing<Owner>& scratch, std::size_t count,
                                         Owner (*make)(std::size_t)) {
  if (count > scratch.count) {
    wait(record_own());
    scratch = {};  // first, so that the two never exist at once
    scratch = {make(count * sizeof(float)), count};
  }
  return {static_cast<float*>(scratch.memory.get()), count};
}

std::span<float> CudaReduceDevice::scratch(std::size_t count) {
  return grown(scratch_, count, make_device_memory);
}

std::span<float> CudaReduceDevice::host_scratch(std::size_t count) {
  return grown(host_scratch_, count, make_pinned_memory);
}

cudaStream_t CudaReduceDevice::stream() const {
  select();
  return own_.get();
}

}  // namespace rueda::cuda
