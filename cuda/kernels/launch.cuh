#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#include "kernels.hpp"
#include "rueda/core/split.hpp"
#include "rueda/kernels/bfloat16.hpp"

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
  return std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ inline std::size_t index_stride() { return std::size_t(gridDim.x) * blockDim.x; }

/// Queues `kernel` on blocks of this shape.
template <typename... Parameters>
cudaError_t launch_blocks(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream,
                          const Parameters&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/// Queues `kernel` with about one thread for each of `work` items; nothing if there is none.
template <typename... Parameters>
cudaError_t launch(void (*kernel)(Parameters...), std::size_t work, cudaStream_t stream,
                   const Parameters&... arguments) {
  if (work == 0) return cudaSuccess;
  const std::size_t blocks = std::min((work - 1) / kBlockThreads + 1, kMaxBlocks);
  return launch_blocks(kernel, dim3(unsigned(blocks)), dim3(kBlockThreads), stream, arguments...);
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

// Sixteen bytes at a time: the widest that a thread reads or writes at once.
// What does not lie so, or does not divide so, is done one by one.

template <typename T, int width>
struct alignas(sizeof(T) * width) Pack {
  T values[width];
};

template <int width, typename T>
__device__ inline void load(const T* from, float (&to)[width]) {
  const Pack<T, width> pack = *reinterpret_cast<const Pack<T, width>*>(from);
#pragma unroll
  for (int i = 0; i < width; ++i) to[i] = kernels::to_float(pack.values[i]);
}

template <int width, typename T>
__device__ inline void store(T* to, const float (&from)[width]) {
  Pack<T, width> pack;
#pragma unroll
  for (int i = 0; i < width; ++i) pack.values[i] = kernels::from_float<T>(from[i]);
  *reinterpret_cast<Pack<T, width>*>(to) = pack;
}

template <typename T>
inline constexpr int kWide = 16 / sizeof(T);

template <typename... Pointers>
bool aligned_for_packs(const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

/// body.run<width>(first element) for every whole pack, and body.run<1>(element) for what is left.
template <int width, typename Body>
__global__ void each_pack(std::size_t count, Body body) {
  const std::size_t packed = count / width * width;
  for (std::size_t i = first_index() * width; i < packed; i += index_stride() * width)
    body.template run<width>(i);
  for (std::size_t i = packed + first_index(); i < count; i += index_stride())
    body.template run<1>(i);
}

/// The same with packs of 16 bytes where all pointers lie so, else with none.
template <typename T, typename Body>
cudaError_t for_each_pack(std::size_t count, bool aligned, const Body& body, cudaStream_t stream) {
  return launch(aligned ? &each_pack<kWide<T>, Body> : &each_pack<1, Body>,
                pieces(count, aligned ? kWide<T> : 1), stream, count, body);
}

/// Whether each pixel is whole packs of 16 bytes, and every pointer lies right or is null.
template <typename T, typename... Pointers>
bool packs_channels(int channels, const Pointers*... pointers) {
  return channels % kWide<T> == 0 && aligned_for_packs(pointers...);
}

/// Calls f.template operator()<T>() with the type that `element` names.
template <typename F>
cudaError_t with_type(Element element, const F& f) {
  return element == Element::bf16 ? f.template operator()<kernels::Bfloat16>()
                                  : f.template operator()<float>();
}

}  // namespace rueda::cuda
