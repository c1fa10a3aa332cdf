#pragma once

#include <cstdint>

#include "kernels.hpp"
#include "launch.cuh"
#include "rueda/kernels/bfloat16.hpp"

// Sixteen bytes at a time: the widest that a thread reads or writes at once. What does not lie so,
// or does not divide so, is done one by one.

namespace rueda::cuda {

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

/// Whether Pack of 16 bytes may be used: `count` divides, and every pointer lies right or is null.
template <typename T, typename... Pointers>
bool packs(std::size_t count, const Pointers*... pointers) {
  return count % kWide<T> == 0 && ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

/// Calls f.template operator()<T>() with the type behind `element`.
template <typename F>
cudaError_t with_type(Element element, const F& f) {
  return element == Element::bf16 ? f.template operator()<kernels::Bfloat16>()
                                  : f.template operator()<float>();
}

}  // namespace rueda::cuda
