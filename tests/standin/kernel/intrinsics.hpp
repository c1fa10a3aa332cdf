#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>

#include "block.hpp"

// What kernels may call beyond C++, under CUDA's names.

namespace rueda::standin {

template <typename T>
std::uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <typename T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Each thread's `value` as the thread `source` of its warp has it; its own if that is beyond the
/// part of `width` threads that it belongs to.
template <typename T>
T shuffle(unsigned mask, T value, unsigned source, unsigned width) {
  exchange(mask, to_bits(value));
  const bool within = source / width == lane() / width && source < kWarp;
  return within ? from_bits<T>(lane_value(source)) : value;
}

}  // namespace rueda::standin

inline constexpr int warpSize = 32;

inline void __syncthreads() { rueda::standin::wait_for_block(); }
inline void __syncwarp(unsigned mask = ~0U) { rueda::standin::exchange(mask, 0); }

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize) {
  const unsigned w = static_cast<unsigned>(width);
  const unsigned base = rueda::standin::lane() / w * w;
  return rueda::standin::shuffle(mask, value, base + static_cast<unsigned>(source) % w, w);
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = warpSize) {
  return rueda::standin::shuffle(mask, value, rueda::standin::lane() + distance,
                                 static_cast<unsigned>(width));
}

template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = warpSize) {
  return rueda::standin::shuffle(mask, value, rueda::standin::lane() - distance,
                                 static_cast<unsigned>(width));
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize) {
  return rueda::standin::shuffle(mask, value, rueda::standin::lane() ^ static_cast<unsigned>(bits),
                                 static_cast<unsigned>(width));
}

inline unsigned __ballot_sync(unsigned mask, int holds) {
  rueda::standin::exchange(mask, holds != 0 ? 1 : 0);
  unsigned lanes = 0;
  for (unsigned i = 0; i < rueda::standin::kWarp; ++i) {
    if ((mask >> i & 1U) != 0 && rueda::standin::lane_value(i) != 0) lanes |= 1U << i;
  }
  return lanes;
}
inline int __any_sync(unsigned mask, int holds) { return __ballot_sync(mask, holds) != 0; }
inline int __all_sync(unsigned mask, int holds) { return __ballot_sync(mask, holds) == mask; }

inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }

template <typename T>
T atomicAdd(T* address, T value) {
  return std::atomic_ref<T>(*address).fetch_add(value);
}
template <typename T>
T atomicAdd_system(T* address, T value) {
  return atomicAdd(address, value);
}
template <typename T>
T atomicExch(T* address, T value) {
  return std::atomic_ref<T>(*address).exchange(value);
}
template <typename T>
T atomicCAS(T* address, T expected, T value) {
  std::atomic_ref<T>(*address).compare_exchange_strong(expected, value);
  return expected;
}
template <typename T>
T atomicMax(T* address, T value) {
  std::atomic_ref<T> it(*address);
  T old = it.load();
  while (old < value && !it.compare_exchange_weak(old, value)) {
  }
  return old;
}
template <typename T>
T atomicMin(T* address, T value) {
  std::atomic_ref<T> it(*address);
  T old = it.load();
  while (value < old && !it.compare_exchange_weak(old, value)) {
  }
  return old;
}
template <typename T>
T atomicOr(T* address, T value) {
  return std::atomic_ref<T>(*address).fetch_or(value);
}

template <typename T>
T __ldg(const T* address) {
  return *address;
}
template <typename T>
T __ldcs(const T* address) {
  return *address;
}
template <typename T>
void __stcs(T* address, T value) {
  *address = value;
}

template <typename T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}

inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float x) { return 1.0F / std::sqrt(x); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }

/// In nanoseconds here.
inline long long clock64() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
inline void __nanosleep(unsigned ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }
