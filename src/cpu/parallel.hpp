#pragma once

#include <cstddef>

#include <omp.h>

#include "rueda/core/split.hpp"

namespace rueda::cpu {

/// body(i) for all i below `count`, split evenly and statically over the rank's
/// threads. Every index is independent, so the result does not depend on their
/// number.
template <typename Body>
void parallel_for(std::size_t count, const Body& body) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < count; ++i) body(i);
}

/// Fewer elements are not worth waking threads for.
inline constexpr std::size_t kWorthThreads = 1U << 14U;

/// body(range) for ranges that together are all below `count`, one for each thread.
template <typename Body>
void parallel_ranges(std::size_t count, const Body& body) {
  if (count <= kWorthThreads || omp_get_max_threads() == 1) {
    body(Range{0, count});
    return;
  }
#pragma omp parallel
  body(even_split(count, std::size_t(omp_get_num_threads()), std::size_t(omp_get_thread_num())));
}

/// The same for elementwise loops over floats, body(i) for all i below `count`.
/// Each thread works on its own copy of `body`; with a shared one the compiler
/// does not vectorise.
template <typename Body>
void parallel_elements(std::size_t count, const Body& body) {
#pragma omp parallel if (count > kWorthThreads)
  {
    const Range mine =
        even_split(count, std::size_t(omp_get_num_threads()), std::size_t(omp_get_thread_num()));
    const Body own = body;
#pragma omp simd
    for (std::size_t i = mine.begin; i < mine.end; ++i) own(i);
  }
}

}  // namespace rueda::cpu
