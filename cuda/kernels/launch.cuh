#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <typeinfo>

#include <cuda_runtime.h>

#include "base/bfloat16.hpp"
#include "base/split.hpp"
#include "cuda/kernels/kernels.hpp"

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

/// Every thread of every kernel calls this first. It goes on when the kernel before has ended and
/// what that wrote is seen: until then a kernel must neither read nor write what lies in memory.
/// Then the next kernel may begin, as soon as all blocks of this one have come here or ended. In
/// this order at most two run at a time; the other way round the next one could begin while the
/// kernel before still runs. docs/cuda.md ("A step") has the kernels of libraries, too.
__device__ inline void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

inline constexpr unsigned kWarpLanes = 32;

__device__ inline unsigned lane_of_warp() { return threadIdx.x % kWarpLanes; }

/// Sums each value over the lanes of a warp, in halves, so that lane 0 has the sums. All lanes call
/// it.
template <typename T, int count>
__device__ inline void add_lanes(T (&mine)[count]) {
  for (unsigned distance = kWarpLanes / 2; distance > 0; distance /= 2)
    for (T& sum : mine) sum += __shfl_down_sync(0xffffffffU, sum, distance);
}

/// The same of one value: the sum, in lane 0.
template <typename T>
__device__ inline T lanes_sum(T mine) {
  T one[] = {mine};
  add_lanes(one);
  return one[0];
}

/// Queues `kernel` on blocks of this shape.
template <typename... Parameters>
void launch_blocks(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream,
                   const Parameters&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &early;
  config.numAttrs = begins_early(reinterpret_cast<const void*>(kernel)) ? 1 : 0;
  const auto code = cudaLaunchKernelEx(&config, kernel, arguments...);
  if (code != cudaSuccess) throw_launch_error(code, typeid(kernel));
}

/// Queues `kernel` with about one thread for each of `work` items; nothing if there is none.
template <typename... Parameters>
void launch(void (*kernel)(Parameters...), std::size_t work, cudaStream_t stream,
            const Parameters&... arguments) {
  if (work == 0) return;
  const std::size_t blocks = std::min((work - 1) / kBlockThreads + 1, kMaxBlocks);
  launch_blocks(kernel, dim3(unsigned(blocks)), dim3(kBlockThreads), stream, arguments...);
}

template <typename Body>
__global__ void each_index(std::size_t count, Body body) {
  wait_for_previous_kernel();
  for (std::size_t i = first_index(); i < count; i += index_stride()) body(i);
}

/// body(i) for i below count, in parallel.
template <typename Body>
void for_each(std::size_t count, const Body& body, cudaStream_t stream) {
  launch(&each_index<Body>, count, stream, count, body);
}

/// What is few by nature, as channels and the first layer's weights are: the
/// launch takes longer than the memory, which tests/cuda/kernel_table.py thus
/// does not ask about.
template <typename Body>
struct Few {
  Body body;
  __device__ void operator()(std::size_t i) const { body(i); }
};

/// for_each where `count` is few.
template <typename Body>
void for_few(std::size_t count, const Body& body, cudaStream_t stream) {
  for_each(count, Few<Body>{body}, stream);
}

/// f(i, values[i]) for i = first, first + stride ... below count; some values are
/// loaded before the first is used.
template <typename F>
__device__ inline void each_value(const float* values, std::size_t count, std::size_t first,
                                  std::size_t stride, const F& f) {
  constexpr unsigned kAtOnce = 4;
  for (std::size_t i = first; i < count; i += kAtOnce * stride) {
    float read[kAtOnce];
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k)
      read[k] = i + k * stride < count ? values[i + k * stride] : 0.0F;
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k)
      if (i + k * stride < count) f(i + k * stride, read[k]);
  }
}

// Sixteen bytes at a time: the widest that a thread reads or writes at once.
// What does not lie so, or does not divide so, is done one by one.

template <typename T, int width>
struct alignas(sizeof(T) * width) Pack {
  T values[width];

  __device__ float operator[](int i) const {
    if constexpr (sizeof(T) * width < 4) {
      return kernels::to_float(values[i]);
    } else {  // one shift or mask of a whole word, of which the compiler would make two
      std::uint32_t word = 0;
      std::memcpy(&word, values + i / (4 / sizeof(T)) * (4 / sizeof(T)), sizeof word);
      if (sizeof(T) == 2) word = i % 2 == 0 ? word << 16U : word & 0xffff0000U;
      float value = 0;
      std::memcpy(&value, &word, sizeof value);
      return value;
    }
  }
  __device__ void set_pair(int i, float first, float second) {
    T pair[2];
    kernels::pair_from_floats(pair, first, second);
    values[i] = pair[0];
    values[i + 1] = pair[1];
  }
};

template <int width, typename T>
__device__ inline Pack<T, width> pack_at(const T* from) {
  return *reinterpret_cast<const Pack<T, width>*>(from);
}

template <int width, typename T>
__device__ inline void store_pack(T* to, const Pack<T, width>& pack) {
  *reinterpret_cast<Pack<T, width>*>(to) = pack;
}

template <int width, typename T>
__device__ inline void store(T* to, const float (&from)[width]) {
  Pack<T, width> pack;
  if constexpr (width == 1) pack.values[0] = kernels::from_float<T>(from[0]);
#pragma unroll
  for (int i = 0; i + 1 < width; i += 2) pack.set_pair(i, from[i], from[i + 1]);
  store_pack(to, pack);
}

template <typename T>
inline constexpr int kWide = 16 / sizeof(T);

/// Where several packs lie: `step` elements from each other.
struct PackPlaces {
  std::size_t first;
  std::size_t step;
  __device__ std::size_t operator[](int k) const { return first + std::size_t(k) * step; }
};

template <typename T, int width, int count>
struct Packs {
  Pack<T, width> of[count];
  float even[count];

  __device__ float at(int k, int i) const { return of[k][i]; }
  /// In the order of i, since two are rounded together.
  __device__ void set(int k, int i, float value) {
    if constexpr (width == 1)
      of[k].values[0] = kernels::from_float<T>(value);
    else if (i % 2 == 0)
      even[k] = value;
    else
      of[k].set_pair(i - 1, even[k], value);
  }
  __device__ void store(void* to, PackPlaces at) const {
    for (int k = 0; k < count; ++k) store_pack(static_cast<T*>(to) + at[k], of[k]);
  }
};

/// Loads all before any can be used, so that they are in flight together. What
/// is not `aligned` is loaded element by element.
template <typename T, int width, int count, bool aligned = true>
__device__ inline Packs<T, width, count> load_packs(const void* from, PackPlaces at) {
  Packs<T, width, count> packs{};
  for (int k = 0; k < count; ++k) {
    const T* place = static_cast<const T*>(from) + at[k];
    if constexpr (aligned) packs.of[k] = pack_at<width>(place);
    for (int i = 0; i < width && !aligned; ++i) packs.of[k].values[i] = place[i];
  }
  return packs;
}

/// f(pack, element of it), in the order in which results are set.
template <int width, int count, typename F>
__device__ inline void each_element(const F& f) {
#pragma unroll
  for (int i = 0; i < width; ++i)
#pragma unroll
    for (int k = 0; k < count; ++k) f(k, i);
}

template <typename... Pointers>
bool aligned_for_packs(const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

inline constexpr std::size_t kNoPacks = SIZE_MAX;

/// How many elements lie before the first that begins a pack of `width` in each
/// array; kNoPacks if that differs. Null is any array.
template <int width, typename... T>
std::size_t elements_before_packs_of(const T*... pointers) {
  std::size_t before = kNoPacks;
  bool same = true;
  const auto look = [&]<typename One>(const One* pointer) {
    if (pointer == nullptr) return;
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const std::size_t own = -address % sizeof(Pack<One, width>) / sizeof(One);
    same = same && (before == kNoPacks || before == own);
    before = own;
  };
  (look(pointers), ...);
  return same ? before : kNoPacks;
}

/// The same of arrays of T, in packs of 16 bytes.
template <typename T, typename... Pointers>
std::size_t elements_before_packs(const Pointers*... pointers) {
  return elements_before_packs_of<kWide<T>>(static_cast<const T*>(pointers)...);
}

/// Threads that share elements: the number of this one, and how many there are.
struct GridThreads {
  __device__ std::size_t first() const { return first_index(); }
  __device__ std::size_t stride() const { return index_stride(); }
};

/// body.run<width, packs>(places): several packs at once from
/// element `before` on, then what is left, one element each.
template <int width, typename Threads, typename Body>
__device__ void run_packs(const Threads& threads, std::size_t count, std::size_t before,
                          const Body& body) {
  const std::size_t end = before + (count - before) / width * width;
  const std::size_t step = threads.stride() * width;
  std::size_t i = before + threads.first() * width;
  const auto take = [&](auto constant) {
    constexpr int packs = decltype(constant)::value;
#pragma unroll 1  // a body has its packs
    for (; i + (packs - 1) * step < end; i += packs * step)
      body.template run<width, packs>({i, step});
  };
  take(std::integral_constant < int, width == 1 ? 4 : Body::kPacks > ());
  take(std::integral_constant<int, 1>());
  for (std::size_t k = threads.first(); k < before + count - end; k += threads.stride())
    body.template run<1, 1>({k < before ? k : k - before + end, 0});
}

template <int width, typename Body>
__global__ void __launch_bounds__(kBlockThreads, 4)
    each_pack(std::size_t count, std::size_t before, Body body) {
  wait_for_previous_kernel();
  run_packs<width>(GridThreads(), count, before, body);
}

template <int width, typename Body>
void for_each_pack(std::size_t count, std::size_t before, const Body& body, cudaStream_t stream) {
  launch(&each_pack<width, Body>, pieces(count, width), stream, count,
         width == 1 ? 0 : std::min(before, count), body);
}

/// Whether each pixel is whole packs of 16 bytes, and every pointer lies right or is null.
template <typename T, typename... Pointers>
bool packs_channels(int channels, const Pointers*... pointers) {
  return channels % kWide<T> == 0 && aligned_for_packs(pointers...);
}

/// f with each flag as a constant: what it decides then costs nothing in a loop.
template <typename F>
void with_flags(const F& f) {
  f();
}
template <typename F, typename... Rest>
void with_flags(const F& f, bool first, Rest... rest) {
  const auto go = [&](auto flag) {
    with_flags([&](auto... others) { f(flag, others...); }, rest...);
  };
  if (first)
    go(std::true_type());
  else
    go(std::false_type());
}

/// f(width, flags...) with constants: the elements of a pack and what a kernel decides.
template <typename T, typename F, typename... Flags>
void with_width(bool packed, const F& f, Flags... flags) {
  const auto go = [&](auto... known) {
    if (packed)
      f(std::integral_constant<int, kWide<T>>(), known...);
    else
      f(std::integral_constant<int, 1>(), known...);
  };
  with_flags(go, flags...);
}

/// Calls f.template operator()<T>() with the type that `element` names.
template <typename F>
void with_type(Element element, const F& f) {
  if (element == Element::bf16)
    f.template operator()<kernels::Bfloat16>();
  else
    f.template operator()<float>();
}

}  // namespace rueda::cuda
