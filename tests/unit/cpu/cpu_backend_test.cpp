// What the CPU backend alone has. What all backends have in common is tested in tests/backend.
#include "cpu/cpu_backend.hpp"

#include <utility>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"
#include "tests/support/has_avx512.hpp"

namespace rueda::test {
namespace {

TEST_CASE("cpu: the name, and two bytes for the image in bf16", "[cpu]") {
  GraphBuilder g("carrier", {10, 3, 3});
  g.global_average_pool("pool", g.pad_shortcut("carrier", g.input(), 10, 1));
  const Graph graph = std::move(g).finish();
  const cpu::CpuBackend wide({1, std::nullopt, Precision::fp32});
  CHECK(wide.name() == "cpu");
  CHECK(wide.activation_bytes(graph, 0, 2) == 2 * 4 * 90);
  if (!has_avx512()) return;
  const cpu::CpuBackend narrow({1, std::nullopt, Precision::bf16});
  CHECK(narrow.activation_bytes(graph, 0, 2) == 2 * 2 * 90);
}

/// The tests' build runs this one with and without ONEDNN_MAX_CPU_ISA=AVX2.
TEST_CASE("cpu bf16 is taken with AVX-512 and refused in words without", "[cpu][bf16-or-not]") {
  const cpu::CpuOptions options{1, std::nullopt, Precision::bf16};
  if (has_avx512()) {
    CHECK_NOTHROW(cpu::CpuBackend(options));
  } else {
    CHECK_THROWS_AS(cpu::CpuBackend(options), InputError);
    CHECK_THROWS_WITH(cpu::CpuBackend(options), Catch::Contains("--precision bf16") &&
                                                    Catch::Contains("AVX-512") &&
                                                    Catch::Contains("--precision fp32"));
  }
  CHECK_NOTHROW(cpu::CpuBackend({1, std::nullopt, Precision::fp32}));
}

}  // namespace
}  // namespace rueda::test
