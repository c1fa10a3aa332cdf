#pragma once

#include <cstddef>

namespace rueda::cpu {

/// body(i) for all i below `count`, split evenly and statically over the rank's threads. Every
/// index is independent, so the result does not depend on their number.
template <typename Body>
void parallel_for(std::size_t count, const Body& body) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < count; ++i) body(i);
}

/// The same for elementwise loops over floats: short ones are not worth waking threads for.
template <typename Body>
void parallel_elements(std::size_t count, const Body& body) {
  constexpr std::size_t worthwhile = 1U << 14U;
#pragma omp parallel for simd schedule(static) if (count > worthwhile)
  for (std::size_t i = 0; i < count; ++i) body(i);
}

}  // namespace rueda::cpu
