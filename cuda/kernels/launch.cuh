#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

// How the .cu files spread work over threads: grid-stride loops, so that any length fits any grid.

namespace rueda::cuda {

inline constexpr unsigned kBlockThreads = 256;
/// About four times what the largest GPUs hold at once: more blocks would only add start-up cost.
#ifdef __CUDACC__
inline constexpr std::size_t kMaxBlocks = 4096;
#else  // the stand-in of the tests, which takes longer to start a thread than to go on with one
inline constexpr std::size_t kMaxBlocks = 4;
#endif

__device__ inline std::size_t first_index() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ inline std::size_t index_stride() {
  return static_cast<std::size_t>(gridDim.x) * blockDim.x;
}

/// Queues `kernel` with about one thread for each of `work` items; nothing if there is none.
template <typename... Parameters>
cudaError_t launch(void (*kernel)(Parameters...), std::size_t work, cudaStream_t stream,
                   const Parameters&... arguments) {
  if (work == 0) return cudaSuccess;
  const std::size_t blocks = (work - 1) / kBlockThreads + 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(std::min(blocks, kMaxBlocks)));
  config.blockDim = dim3(kBlockThreads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

template <typename Body>
__global__ void each_index(std::size_t count, Body body) {
  for (std::size_t i = first_index(); i < count; i += index_stride()) body(i);
}

/// body(i) for i below count, in parallel.
template <typename Body>
cudaError_t for_each(std::size_t count, const Body& body, cudaStream_t stream) {
  return launch(&each_index<Body>, count, stream, count, body);
}

/// The first `fours` groups of four elements at once, then the rest one by one.
template <typename Body>
__global__ void each_four(std::size_t fours, std::size_t count, Body body) {
  for (std::size_t i = first_index(); i < fours; i += index_stride()) body.four(i);
  for (std::size_t i = 4 * fours + first_index(); i < count; i += index_stride()) body.one(i);
}

/// Whether float4 may be read at every one of `pointers`.
template <typename... Pointers>
bool aligned_for_float4(const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % sizeof(float4) == 0) && ...);
}

/// body.four(i) for each whole group of four if `aligned`, and body.one(i) for what is left.
template <typename Body>
cudaError_t for_each_four(std::size_t count, bool aligned, const Body& body, cudaStream_t stream) {
  const std::size_t fours = aligned ? count / 4 : 0;
  return launch(&each_four<Body>, std::max(fours, count - 4 * fours), stream, fours, count, body);
}

}  // namespace rueda::cuda
