#pragma once

#if RUEDA_WITH_CPU
#include <oneapi/dnnl/dnnl.h>
#endif

namespace rueda::test {

/// Whether oneDNN has AVX-512 here, without which it has no bf16. Asked of the library and not of
/// the program, whose own answer is to be checked. Every set of instructions is a bit on top of
/// those it contains.
inline bool has_avx512() {
#if RUEDA_WITH_CPU
  return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
#else
  return false;
#endif
}

}  // namespace rueda::test
