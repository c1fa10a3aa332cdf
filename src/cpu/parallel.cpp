#include "cpu/parallel.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

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

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

const char* instruction_set() {
  struct Named {
    dnnl::cpu_isa set;
    const char* name;
  };
  // Each contains those after it, but for the two branches of AVX-512 and AVX2 VNNI.
  static constexpr Named kSets[] = {{dnnl::cpu_isa::avx512_core_amx, "AMX"},
                                    {dnnl::cpu_isa::avx512_core_bf16, "AVX-512 BF16"},
                                    {dnnl::cpu_isa::avx512_core_vnni, "AVX-512 VNNI"},
                                    {dnnl::cpu_isa::avx512_core, "AVX-512"},
                                    {dnnl::cpu_isa::avx2_vnni, "AVX2 VNNI"},
                                    {dnnl::cpu_isa::avx2, "AVX2"},
                                    {dnnl::cpu_isa::avx, "AVX"},
                                    {dnnl::cpu_isa::sse41, "SSE4.1"}};
  const auto* const best = std::ranges::find_if(kSets, has_instructions, &Named::set);
  return best == std::end(kSets) ? "" : best->name;
}

}  // namespace

int vector_bits() {
  if (has_instructions(dnnl::cpu_isa::avx512_core)) return 512;
  return has_instructions(dnnl::cpu_isa::avx2) ? 256 : 0;
}

bool multiplies_bf16() { return has_instructions(dnnl::cpu_isa::avx512_core_bf16); }

std::string processor() {
  const std::string set = instruction_set();
  return set.empty() ? processor_name() : processor_name() + " with " + set;
}

}  // namespace rueda::cpu
