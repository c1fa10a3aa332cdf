#pragma once

#include <cstddef>
#include <memory>
#include <source_location>
#include <type_traits>

#include <cuda_runtime_api.h>

#include "base/clock.hpp"
#include "base/waiting.hpp"

// For host files only: some nvcc releases reject a defaulted source_location.

namespace rueda::cuda {

/// Every return code of CUDA goes through here; launchers throw by themselves:
/// `check(cudaStreamSynchronize(stream), "cudaStreamSynchronize")`. Throws the
/// RunError that belongs to a failed call, OutOfMemory for a failed allocation:
/// its name, what CUDA says about `code`, and the file and line of the call.
void check(cudaError_t code, const char* call,
           std::source_location place = std::source_location::current());

/// Whether an environment variable is not "off". Throws InputError for a value that is neither "on"
/// nor "off".
bool switched_on(const char* variable);

/// What `destroy` returns is dropped: an error at this point stems from earlier
/// work, and the next checked call reports it too.
template <auto destroy>
struct Destroy {
  void operator()(auto raw) const noexcept { static_cast<void>(destroy(raw)); }
};

/// Sole owner of a C handle, which is a pointer; `destroy` releases it exactly once.
template <typename Raw, auto destroy>
using Handle = std::unique_ptr<std::remove_pointer_t<Raw>, Destroy<destroy>>;

/// Of this thread.
inline int current_device() {
  int ordinal = 0;
  check(cudaGetDevice(&ordinal), "cudaGetDevice");
  return ordinal;
}

inline cudaDeviceProp properties_of(int ordinal) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  return properties;
}

using Stream = Handle<cudaStream_t, cudaStreamDestroy>;
using Event = Handle<cudaEvent_t, cudaEventDestroy>;
using DeviceMemory = Handle<void*, cudaFree>;
using PinnedMemory = Handle<void*, cudaFreeHost>;

/// A stream that does not wait for the default stream, nor it for this one.
inline Stream make_stream(int priority = 0) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority),
        "cudaStreamCreateWithPriority");
  return Stream(stream);
}

/// The same; its work goes before that of streams of lower priority where both are ready.
inline Stream make_urgent_stream() {
  int least = 0;
  int greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  return make_stream(greatest);
}

inline Event make_event_with(unsigned flags) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags");
  return Event(event);
}

/// An event that keeps its time.
inline Event make_timing_event() { return make_event_with(cudaEventDefault); }

/// An event that orders work and records no time.
inline Event make_event() { return make_event_with(cudaEventDisableTiming); }

/// The same, for which a thread sleeps while it waits: a spinning one takes a core from the others.
inline Event make_sleepy_event() {
  return make_event_with(cudaEventDisableTiming | cudaEventBlockingSync);
}

/// Whether it has; true for one that was never recorded.
inline bool has_passed(cudaEvent_t event) {
  const cudaError_t code = cudaEventQuery(event);
  if (code == cudaErrorNotReady) {
    // CUDA keeps it as its last error, where a later check would find it.
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check(code, "cudaEventQuery");
  return true;
}

/// Returns once `event` has passed, one with cudaEventBlockingSync: see
/// look_then_sleep.
inline void wait_for(cudaEvent_t event) {
  look_then_sleep([event] { return has_passed(event); },
                  [event] { check(cudaEventSynchronize(event), "cudaEventSynchronize"); });
}

/// Of the device, between two timing events that have passed.
inline double seconds_between(cudaEvent_t begin, cudaEvent_t end) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  return double(milliseconds) / 1000;
}

inline void queue_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                       cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
}

/// Plain cudaMalloc, whose memory MPI can share between processes. Not zeroed;
/// 0 bytes give an empty handle.
inline DeviceMemory make_device_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes != 0) check(cudaMalloc(&memory, bytes), "cudaMalloc");
  return DeviceMemory(memory);
}

/// Host memory that the device copies from and to without a detour. Not zeroed;
/// 0 bytes give an empty handle.
inline PinnedMemory make_pinned_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes != 0) check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "cudaHostAlloc");
  return PinnedMemory(memory);
}

}  // namespace rueda::cuda
