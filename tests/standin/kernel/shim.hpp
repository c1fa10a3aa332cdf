#pragma once

// Included before a .cu file so that g++ compiles it as C++: CUDA's keywords and intrinsics mean
// what the stand-in makes of them, and launches go to its streams. Of shared memory only arrays of
// fixed size are known, of intrinsics those that the kernels call, by whole warps.

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <typeinfo>
#include <utility>

#include <cuda_runtime.h>

// Runs kernels that g++ compiled as C++. The blocks of a launch run one after another, and so do
// their threads; a thread that has to wait for others of its block gives way to them (a fibre).

// Where the thread of a kernel stands that runs now in this thread of the host.
inline constinit thread_local uint3 threadIdx{};
inline constinit thread_local uint3 blockIdx{};
inline constinit thread_local dim3 blockDim{};
inline constinit thread_local dim3 gridDim{};

namespace rueda::standin {

inline constexpr unsigned kWarp = 32;

/// Waits for all threads of the block that have not ended.
void wait_for_block();

/// Lays `value` down for the other threads of the warp and waits until all that have not ended have
/// done so too. Then `lane_value` gives what they laid down, until the next call.
void exchange(std::uint64_t value);
std::uint64_t lane_value(unsigned lane);

/// The place of this thread in its warp.
unsigned lane();

}  // namespace rueda::standin

// Threads of one block run in one thread of the host, those of other streams in others.
#undef __shared__
#define __shared__ static thread_local
#undef __launch_bounds__
#define __launch_bounds__(...)

namespace rueda::standin {

/// Each thread's `value` as the thread `source` of its warp has it; its own if there is none.
template <typename T>
T shuffle(T value, unsigned source) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  exchange(bits);
  if (source >= kWarp) return value;
  bits = lane_value(source);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Queues a launch of a kernel of this type. cudaErrorInvalidConfiguration if a device could not
/// hold such a block or grid.
cudaError_t launch_kernel(const cudaLaunchConfig_t& config, const std::type_info& type,
                          std::function<void()> kernel);

/// Arguments are copied when the kernel is queued, as CUDA copies them.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_with(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                        Arguments&&... arguments) {
  const std::tuple<Parameters...> kept(std::forward<Arguments>(arguments)...);
  return launch_kernel(*config, typeid(kernel), [=] { std::apply(kernel, kept); });
}

}  // namespace rueda::standin

// CUDA's own is a template that is there already.
#define cudaLaunchKernelEx ::rueda::standin::launch_with

inline void __syncthreads() { rueda::standin::wait_for_block(); }

template <typename T>
T __shfl_down_sync(unsigned, T value, unsigned distance) {
  return rueda::standin::shuffle(value, rueda::standin::lane() + distance);
}

template <typename T>
T __shfl_xor_sync(unsigned, T value, int bits) {
  return rueda::standin::shuffle(value, rueda::standin::lane() ^ unsigned(bits));
}

inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }

template <typename T>
T atomicAdd(T* address, T value) {
  return std::atomic_ref<T>(*address).fetch_add(value);
}
