// meson.build runs this program, built with the flags of the build. Its exit code is above 0 where
// the compiler's arithmetic is not that of IEEE 754, on which NaN for "unknown" and equal bits on
// nodes of different make rest. Only a run shows it: few of the flags that change it have a macro.

#include <cmath>
#include <limits>

namespace {

// The compiler does not know what it reads here.
volatile float not_a_number = std::numeric_limits<float>::quiet_NaN();
volatile float one = 1.0F;
volatile float large = 1e30F;
volatile float above_one = 1.0F + 1.0F / 4096;
volatile float smallest = std::numeric_limits<float>::min();

bool sees_nan(float value) { return std::isnan(value); }

bool keeps_the_order_of_sums(float far, float near) { return (near + far) - far == 0; }

bool rounds_products(float factor, float rounded) { return factor * factor - rounded == 0; }

}  // namespace

int main() {
  if (!sees_nan(not_a_number)) return 1;
  if (!keeps_the_order_of_sums(large, one)) return 2;
  // float does not hold all digits of the square.
  if (!rounds_products(above_one, float(double(above_one) * above_one))) return 3;
  if (smallest / 2 == 0) return 4;  // -Ofast links crtfastmath.o, which sets these to 0
  return 0;
}
