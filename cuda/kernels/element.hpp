#pragma once

#include <cstddef>

namespace rueda::cuda {

/// What an activation's numbers are kept in.
enum class Element { fp32, bf16 };

inline std::size_t bytes_of(Element element) { return element == Element::bf16 ? 2 : 4; }

}  // namespace rueda::cuda
