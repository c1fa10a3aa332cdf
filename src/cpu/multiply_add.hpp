#pragma once

#include <cstddef>

namespace rueda::cpu {

inline constexpr std::size_t kFmaRounds = 1U << 16U;  // 0.1 ms
/// Of multiply_and_add: twelve vectors, two for each 32 bits.
inline constexpr double kFmaFlopsPerBit = 12 * 2.0 / 32 * kFmaRounds;

/// Adds products to twelve vectors in turn: more than two units of a latency of
/// five cycles have under way. In assembly no vector leaves its register. With
/// `bf16`, of 512-bit vectors, each instruction adds twice as many.
inline void multiply_and_add([[maybe_unused]] int bits, [[maybe_unused]] bool bf16) {
#if defined(__x86_64__)
#define RUEDA_FMA_LOOP(operation, V)                                                           \
  asm volatile("vbroadcastss %1, %%" V "15\n1: .irp i, 0,1,2,3,4,5,6,7,8,9,10,11\n" operation  \
               " %%" V "15, %%" V "15, %%" V "\\i\n.endr\ndec %0\njnz 1b\nvzeroupper"          \
               : "+r"(rounds)                                                                  \
               : "m"(factor)                                                                   \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                 "xmm9", "xmm10", "xmm11", "xmm15")
  std::size_t rounds = kFmaRounds;
  const float factor = 0.3F;
  if (bf16)
    RUEDA_FMA_LOOP("vdpbf16ps", "zmm");
  else if (bits == 512)
    RUEDA_FMA_LOOP("vfmadd231ps", "zmm");
  else
    RUEDA_FMA_LOOP("vfmadd231ps", "ymm");
#undef RUEDA_FMA_LOOP
#endif
}

}  // namespace rueda::cpu
