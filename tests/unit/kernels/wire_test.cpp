#include "rueda/kernels/wire.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "rueda/reduce/reduce_loops.hpp"
#include "tests/support/values.hpp"

namespace rueda::test {

using kernels::Bfloat16;

TEST_CASE("what rounding to bf16 takes is kept exactly", "[wire]") {
  for (std::size_t i = 0; i < 2000; ++i) {
    float lost = 0;
    const float value = rough_value(3, i);
    const float sent = kernels::to_float(kernels::narrow_with_feedback(value, lost));
    CHECK(static_cast<double>(sent) + static_cast<double>(lost) == static_cast<double>(value));
    CHECK(std::abs(lost) <= std::abs(value) * 0x1p-8F);
  }
}

TEST_CASE("what was kept is added before the next rounding", "[wire]") {
  float lost = 0;
  double sent = 0;
  for (int k = 0; k < 256; ++k) {  // 1 + 2^-9: always rounded to 1 without feedback
    sent +=
        static_cast<double>(kernels::to_float(kernels::narrow_with_feedback(1 + 0x1p-9F, lost)));
  }
  CHECK(sent + static_cast<double>(lost) == 256.5);
}

TEST_CASE("nothing is kept of what is no number, or becomes infinite", "[wire]") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float value :
       {infinity, -infinity, std::nanf(""), std::numeric_limits<float>::max()}) {
    float lost = 0;
    kernels::narrow_with_feedback(value, lost);
    CHECK(lost == 0);
  }
}

TEST_CASE("loops for a bf16 wire do a part of it", "[wire]") {
  const auto values = filled<rough_value>(1, 10);
  std::vector<Bfloat16> narrow(10);
  std::vector<float> wide(10, -1.0F), sums(10, 2.0F), lost(10, 0.0F);
  narrow_part(narrow, values, lost, 2, 9);
  widen_part(wide, narrow, 2, 9);
  add_narrow_part(sums, narrow, 2, 9);
  for (std::size_t i = 0; i < 10; ++i) {
    const bool inside = i >= 2 && i < 9;
    CHECK(wide[i] == (inside ? values[i] - lost[i] : -1.0F));
    CHECK(sums[i] == (inside ? 2.0F + wide[i] : 2.0F));
  }
}

}  // namespace rueda::test
