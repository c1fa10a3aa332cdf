#include "base/bfloat16.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "reduce/host_sums.hpp"
#include "rueda/reduce/reduce_device.hpp"
#include "tests/support/rounding.hpp"
#include "tests/support/values.hpp"

namespace rueda::test {
namespace {

using kernels::Bfloat16;

Bfloat16 rounded(float value) { return kernels::from_float<Bfloat16>(value); }

constexpr std::uint32_t kPatterns = 1U << 16U;

Bfloat16 pattern(std::uint32_t bits) { return {std::uint16_t(bits)}; }

/// Sign, exponent and mantissa read as the format defines them.
double meaning(std::uint32_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  const int exponent = int(bits >> 7U & 0xffU);
  const double mantissa = double(bits & 0x7fU);
  if (exponent == 0xff)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, -126 - 7);
  return sign * std::ldexp(mantissa + 128, exponent - 127 - 7);
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

/// Whether `value` becomes what double arithmetic finds nearest.
bool rounds_to_nearest(float value) {
  const double got = double(kernels::to_float(rounded(value)));
  return same(got, nearest_bf16(double(value)));
}

TEST_CASE("bf16: every pattern means what the format says, and comes back", "[kernels]") {
  for (std::uint32_t bits = 0; bits < kPatterns; ++bits) {
    const float value = kernels::to_float(pattern(bits));
    const bool right = same(double(value), meaning(bits));
    // A signalling NaN comes back quiet: with the mantissa's first bit set.
    const std::uint32_t expected = std::isnan(value) ? bits | 0x40U : bits;
    if (right && rounded(value).bits == expected) continue;
    CAPTURE(bits, value);
    CHECK(same(double(value), meaning(bits)));
    CHECK(rounded(value).bits == expected);
  }
}

TEST_CASE("bf16: every gap between neighbours is rounded to nearest, ties to even", "[kernels]") {
  // After a pattern, the lower half of an fp32 number says how far the next one is.
  for (std::uint32_t upper = 0; upper < kPatterns; ++upper) {
    if (std::isnan(meaning(upper))) continue;
    for (const std::uint32_t lower :
         {0x0000U, 0x0001U, 0x4321U, 0x7fffU, 0x8000U, 0x8001U, 0xc321U, 0xffffU}) {
      const auto value = std::bit_cast<float>(upper << 16U | lower);
      if (std::isnan(value) || rounds_to_nearest(value)) continue;
      CAPTURE(upper, lower, value);
      CHECK(rounds_to_nearest(value));
    }
  }
}

// A minute: `build/tests/unit '[exhaustive]'`.
TEST_CASE("bf16: every fp32 number is rounded to nearest, ties to even", "[.][exhaustive]") {
  std::size_t wrong = 0;
  for (std::uint64_t bits = 0; bits < 1ULL << 32U; ++bits)
    wrong += rounds_to_nearest(std::bit_cast<float>(std::uint32_t(bits))) ? 0 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("bf16: known values, ties, the ends of the range", "[kernels]") {
  CHECK(rounded(1.0F).bits == 0x3f80);
  CHECK(rounded(-2.0F).bits == 0xc000);
  CHECK(rounded(0.0F).bits == 0x0000);
  CHECK(rounded(-0.0F).bits == 0x8000);
  CHECK(rounded(1.00390625F).bits == 0x3f80);     // halfway to the next, 1 is even
  CHECK(rounded(1.01171875F).bits == 0x3f82);     // halfway again, here the upper one is even
  CHECK(rounded(1.99999988F).bits == 0x4000);     // into the next power of two
  CHECK(rounded(3.38953139e38F).bits == 0x7f7f);  // the largest
  CHECK(rounded(3.39617752e38F).bits == 0x7f80);  // halfway from there to 2^128
  CHECK(rounded(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(rounded(std::numeric_limits<float>::lowest()).bits == 0xff80);
  CHECK(rounded(std::numeric_limits<float>::infinity()).bits == 0x7f80);
  CHECK(rounded(0x1p-133F).bits == 0x0001);  // the smallest denormal
  CHECK(rounded(0x1p-134F).bits == 0x0000);  // half of it: zero is even
  CHECK(rounded(-0x1.8p-134F).bits == 0x8001);
  CHECK(rounded(0x1.fep-127F).bits == 0x0080);  // the largest denormals become the first normal
}

TEST_CASE("bf16: a NaN stays one, wherever its payload lies; fp32 passes through unchanged",
          "[kernels]") {
  for (const std::uint32_t sign : {0U, 0x80000000U}) {
    for (std::uint32_t payload = 1; payload < 1U << 23U; payload = payload * 5 / 4 + 1) {
      const auto value = std::bit_cast<float>(sign | 0x7f800000U | payload);
      CAPTURE(sign, payload);
      CHECK(std::isnan(kernels::to_float(rounded(value))));
      CHECK(rounded(value).bits >> 15U == sign >> 31U);
    }
  }
  for (const std::uint32_t bits : {0x7f800001U, 0x7f80ffffU, 0x7fffffffU, 0xffffffffU})
    CHECK(std::isnan(kernels::to_float(rounded(std::bit_cast<float>(bits)))));
  CHECK(kernels::from_float<float>(0.1F) == 0.1F);
  CHECK(kernels::to_float(0.1F) == 0.1F);
}

TEST_CASE("loops for a bf16 wire do a part of it", "[wire]") {
  const auto values = filled<rough_value>(1, 10);
  std::vector<Bfloat16> narrow(10);
  std::vector<float> wide(10, -1.0F), sums(10, 2.0F);
  narrow_part(narrow, values, 2, 9);
  widen_part(wide, narrow, 2, 9);
  add_narrow_part(sums, narrow, 2, 9);
  for (std::size_t i = 0; i < 10; ++i) {
    const bool inside = i >= 2 && i < 9;
    CHECK(wide[i] == (inside ? kernels::to_float(rounded(values[i])) : -1.0F));
    CHECK(sums[i] == (inside ? 2.0F + wide[i] : 2.0F));
  }
}

}  // namespace
}  // namespace rueda::test
