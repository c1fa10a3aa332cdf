#pragma once

#include <cstdint>
#include <string_view>

#include "base/host_device.hpp"

namespace rueda {

/// Finaliser of splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom
/// number generators", OOPSLA 2014): a bijection on 64 bits whose every input
/// bit reaches every output bit.
RUEDA_HOST_DEVICE constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Counter-based random bits: a pure function of its keys. Nothing here has
/// state, so a draw never depends on which rank or thread asks, nor on what was
/// asked before.
template <typename... Keys>
RUEDA_HOST_DEVICE constexpr std::uint64_t random_bits(std::uint64_t seed, Keys... keys) noexcept {
  std::uint64_t h = mix64(seed);
  ((h = mix64(h ^ std::uint64_t(keys))), ...);
  return h;
}

/// The top 53 bits as a double in [0, 1).
RUEDA_HOST_DEVICE constexpr double to_unit(std::uint64_t bits) noexcept {
  return double(bits >> 11) * 0x1.0p-53;
}

/// An integer in [0, bound), bound > 0, by the high half of a 64x32-bit product (bias below 2^-32).
RUEDA_HOST_DEVICE constexpr std::uint32_t to_below(std::uint64_t bits,
                                                   std::uint32_t bound) noexcept {
  return std::uint32_t(((bits >> 32) * bound) >> 32);
}

/// FNV-1a over the bytes of a name: a stable key for `random_bits`, the same on every platform.
constexpr std::uint64_t key_of(std::string_view name) noexcept {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

}  // namespace rueda
