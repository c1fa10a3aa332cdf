#include "cuda_reduce_device.hpp"

#include "cuda/kernels/kernels.hpp"

namespace rueda::cuda {
namespace {

int current_device() {
  int ordinal = 0;
  check(cudaGetDevice(&ordinal), "cudaGetDevice");
  return ordinal;
}

template <class Memory>
std::span<float> floats(const Memory& memory, std::size_t count) {
  return {static_cast<float*>(memory.get()), count};
}

}  // namespace

CudaReduceDevice::CudaReduceDevice(cudaStream_t compute)
    : ordinal_(current_device()),
      compute_(compute),
      own_(make_urgent_stream()),
      compute_tail_(make_event()),
      own_tail_(make_event()) {}

CudaReduceDevice::~CudaReduceDevice() {
  static_cast<void>(cudaSetDevice(ordinal_));
  static_cast<void>(cudaStreamSynchronize(own_.get()));
  if (checks_.stream) static_cast<void>(cudaStreamSynchronize(checks_.stream.get()));
}

/// CUDA keeps the current device for each thread, and begins with device 0.
void CudaReduceDevice::select() const { check(cudaSetDevice(ordinal_), "cudaSetDevice"); }

void CudaReduceDevice::add(std::span<float> into, std::span<const float> from) {
  select();
  check(accumulate(into.data(), from.data(), into.size(), own_.get()), "accumulate");
}

void CudaReduceDevice::move(std::span<float> to, std::span<const float> from, cudaMemcpyKind kind) {
  if (from.empty()) return;
  select();
  check(cudaMemcpyAsync(to.data(), from.data(), from.size_bytes(), kind, own_.get()),
        "cudaMemcpyAsync");
}

void CudaReduceDevice::copy(std::span<float> to, std::span<const float> from) {
  move(to, from, cudaMemcpyDeviceToDevice);
}

void CudaReduceDevice::to_host(std::span<float> host, std::span<const float> device) {
  move(host, device, cudaMemcpyDeviceToHost);
}

void CudaReduceDevice::from_host(std::span<float> device, std::span<const float> host) {
  move(device, host, cudaMemcpyHostToDevice);
}

void CudaReduceDevice::narrow(std::span<kernels::Bfloat16> to, std::span<const float> from,
                              std::span<float> lost) {
  select();
  check(narrow_wire(to.data(), from.data(), lost.data(), to.size(), own_.get()), "narrow_wire");
}

void CudaReduceDevice::add_narrow(std::span<float> into, std::span<const kernels::Bfloat16> from) {
  select();
  check(add_wire(into.data(), from.data(), into.size(), own_.get()), "add_wire");
}

void CudaReduceDevice::widen(std::span<float> to, std::span<const kernels::Bfloat16> from) {
  select();
  check(widen_wire(to.data(), from.data(), to.size(), own_.get()), "widen_wire");
}

void CudaReduceDevice::open_checks() {
  checks_.sum = make_device_memory(sizeof(std::uint64_t));
  checks_.host = make_pinned_memory(sizeof(std::uint64_t));
  checks_.stream = make_urgent_stream();
}

std::uint64_t CudaReduceDevice::check_sum(std::span<const float> values) {
  select();
  if (!checks_.stream) open_checks();
  cudaStream_t stream = checks_.stream.get();
  auto* sum = static_cast<std::uint64_t*>(checks_.sum.get());
  auto* host = static_cast<std::uint64_t*>(checks_.host.get());
  check(message_check(values.data(), values.size(), sum, stream), "message_check");
  check(cudaMemcpyAsync(host, sum, sizeof *sum, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  wait(record_on(stream));
  return *host;
}

std::span<float> CudaReduceDevice::keep(std::size_t count) {
  select();
  kept_.push_back(make_device_memory(count * sizeof(float)));
  void* memory = kept_.back().get();
  check(cudaMemsetAsync(memory, 0, count * sizeof(float), own_.get()), "cudaMemsetAsync");
  return {static_cast<float*>(memory), count};
}

rueda::Event CudaReduceDevice::record() {
  select();
  return events_.record({compute_, own_.get()});
}

rueda::Event CudaReduceDevice::record_own() { return record_on(own_.get()); }

rueda::Event CudaReduceDevice::record_on(cudaStream_t stream) {
  select();
  return events_.record({stream});
}

void CudaReduceDevice::wait(rueda::Event event) {
  select();
  events_.wait(event);
}

void CudaReduceDevice::join() {
  select();
  check(cudaEventRecord(compute_tail_.get(), compute_), "cudaEventRecord");
  check(cudaEventRecord(own_tail_.get(), own_.get()), "cudaEventRecord");
  check(cudaStreamWaitEvent(own_.get(), compute_tail_.get(), 0), "cudaStreamWaitEvent");
  check(cudaStreamWaitEvent(compute_, own_tail_.get(), 0), "cudaStreamWaitEvent");
}

std::span<float> CudaReduceDevice::scratch(std::size_t count) {
  if (count > scratch_count_) {
    select();
    wait(record_own());
    scratch_count_ = 0;
    scratch_ = {};  // first, so that the two never exist at once
    scratch_ = make_device_memory(count * sizeof(float));
    scratch_count_ = count;
  }
  return floats(scratch_, count);
}

std::span<float> CudaReduceDevice::host_scratch(std::size_t count) {
  if (count > host_scratch_count_) {
    select();
    wait(record_own());
    host_scratch_count_ = 0;
    host_scratch_ = {};
    host_scratch_ = make_pinned_memory(count * sizeof(float));
    host_scratch_count_ = count;
  }
  return floats(host_scratch_, count);
}

}  // namespace rueda::cuda
