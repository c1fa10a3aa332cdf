#include "cpu/parallel.hpp"

#include "cpu/onednn.hpp"

namespace rueda::cpu {
namespace {

bool has_instructions([[maybe_unused]] dnnl::cpu_isa wanted) {
#if defined(__x86_64__)
  // A set contains the bits of all that it includes.
  const auto bits = static_cast<unsigned>(wanted);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
#else
  return false;
#endif
}

}  // namespace

int vector_bits() {
  if (has_instructions(dnnl::cpu_isa::avx512_core)) return 512;
  return has_instructions(dnnl::cpu_isa::avx2) ? 256 : 0;
}

bool multiplies_bf16() { return has_instructions(dnnl::cpu_isa::avx512_core_bf16); }

}  // namespace rueda::cpu
