#pragma once

#include <cstddef>

#include <omp.h>

#include "rueda/core/split.hpp"

namespace rueda::cpu {

/// body(i) for all i below `count`, split evenly and statically over the rank's threads. Every
/// index is independent, so the result does not depend on their number.
template <typename Body>
void parallel_for(std::size_t count, const Body& body) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < count; ++i) body(i);
}

/// The same for elementwise loops over floats: short ones are not worth waking threads for. Each
/// thread works on its own copy of `body`; with a shared one the compiler does not vectorise.
template <typename Body>
void parallel_elements(std::size_t count, const Body& body) {
  constexpr std::size_t worthwhile = 1U << 14U;
#pragma omp parallel if (count > worthwhile)
  {
    const Range mine = even_split(count, static_cast<std::size_t>(omp_get_num_threads()),
                                  static_cast<std::size_t>(omp_get_thread_num()));
    const Body own = body;
#pragma omp simd
    for (std::size_t i = mine.begin; i < mine.end; ++i) own(i);
  }
}

}  // namespace rueda::cpu
