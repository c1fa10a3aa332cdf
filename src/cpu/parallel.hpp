#pragma once

#include <cstddef>
#include <string>
#include <thread>
#include <type_traits>

#include <omp.h>

#include "base/split.hpp"

namespace rueda::cpu {

/// Bits of the widest vectors that this processor multiplies and adds at once; 0: unknown.
/// As oneDNN sees it, so ONEDNN_MAX_CPU_ISA limits rueda's own loops as well.
int vector_bits();

/// Whether it multiplies vectors of 512 bits of bf16.
bool multiplies_bf16();

/// This processor with the widest instruction set that oneDNN and rueda's own loops use, where it
/// is known: "AMD EPYC with AVX2". Processors with one name may differ in it, since virtual
/// machines hide the generation, and then in last bits.
std::string processor();

/// Floats of a vector, known to the compiler.
template <std::size_t count>
using Lanes = std::integral_constant<std::size_t, count>;

#if defined(__x86_64__)
template <typename Loop>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"), flatten)) void run_512(
    const Loop& loop) {
  loop(Lanes<16>());
}
template <typename Loop>
__attribute__((target("avx2"), flatten)) void run_256(const Loop& loop) {
  loop(Lanes<8>());
}
#endif

/// loop(lanes), compiled once for each width of vectors and run with this processor's.
/// The results are the same: nothing is contracted or reordered.
template <typename Loop>
void with_wide_vectors(const Loop& loop) {
#if defined(__x86_64__)
  static const int bits = vector_bits();
  if (bits == 512) return run_512(loop);
  if (bits == 256) return run_256(loop);
#endif
  loop(Lanes<4>());
}

/// body(work, lanes), or body(work) for one that does not ask for the vectors' width.
template <typename Body, typename Work, typename Width>
void call_with(const Body& body, Work work, Width lanes) {
  if constexpr (std::is_invocable_v<const Body&, Work, Width>)
    body(work, lanes);
  else
    body(work);
}

/// Fewer elements are not worth waking threads for.
inline constexpr std::size_t kWorthThreads = 1U << 14U;

/// body(range) or body(range, lanes) for ranges that together are all below `count`:
/// one for each of the rank's threads where there are more than `worth`.
template <typename Body>
void parallel_ranges(std::size_t count, const Body& body, std::size_t worth = kWorthThreads) {
  if (count <= worth || omp_get_max_threads() == 1)
    return with_wide_vectors([&](auto lanes) { call_with(body, Range{0, count}, lanes); });
#pragma omp parallel
  {
    const Range mine =
        even_split(count, std::size_t(omp_get_num_threads()), std::size_t(omp_get_thread_num()));
    with_wide_vectors([&](auto lanes) { call_with(body, mine, lanes); });
  }
}

/// body(i) or body(i, lanes) for all i below `count`. Every index is independent, so
/// the result does not depend on the number of threads.
template <typename Body>
void parallel_for(std::size_t count, const Body& body) {
  parallel_ranges(
      count,
      [&body](Range mine, auto lanes) {
        for (std::size_t i = mine.begin; i < mine.end; ++i) call_with(body, i, lanes);
      },
      0);
}

/// The same for elementwise loops over floats. Each thread works on its own
/// copy of `body`; with a shared one the compiler does not vectorise.
template <typename Body>
void parallel_elements(std::size_t count, const Body& body) {
  parallel_ranges(count, [&body](Range mine) {
    const Body own = body;
#pragma omp simd
    for (std::size_t i = mine.begin; i < mine.end; ++i) own(i);
  });
}

/// On the thread that made it, which trains, additions are shared out to its
/// team; on another one, which works at the same time, they are not.
struct TeamShare {
  const std::thread::id home = std::this_thread::get_id();

  void operator()(std::size_t count, const auto& work) const {
    if (std::this_thread::get_id() == home)
      parallel_ranges(count, work);
    else
      work(Range{0, count});
  }
};

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
