#pragma once

#include <cstddef>
#include <span>

namespace rueda {

/// Adds up arrays in host memory element by element in the order of TreeOrder: to[k][i]
/// for every k and every i below `count` becomes the sum over r of from[r][i]. One pass over
/// memory, by the calling thread alone. A target may be one of the sources; else nothing overlaps.
void tree_sum(std::span<const float* const> from, std::span<float* const> to, std::size_t count);

}  // namespace rueda
