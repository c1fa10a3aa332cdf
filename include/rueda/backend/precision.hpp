#pragma once

#include <cstddef>

namespace rueda {

/// What activations and packed weights are kept in and convolutions compute in. Parameters, their
/// gradients, all statistics, and everything behind the global pooling are fp32 in any case.
enum class Precision { fp32, bf16 };

inline std::size_t bytes_of(Precision p) noexcept { return p == Precision::bf16 ? 2 : 4; }

}  // namespace rueda
