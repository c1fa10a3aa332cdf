#pragma once

#include <cstdint>

#include <vector_types.h>

// Runs kernels that g++ compiled as C++. The blocks of a launch run one after another, and so do
// their threads; a thread that has to wait for others of its block gives way to them (a fibre).

// Where the thread of a kernel stands that runs now in this thread of the host.
inline constinit thread_local uint3 threadIdx{};
inline constinit thread_local uint3 blockIdx{};
inline constinit thread_local dim3 blockDim{};
inline constinit thread_local dim3 gridDim{};

namespace rueda::standin {

inline constexpr unsigned kWarp = 32;

/// Waits for all threads of the block that have not ended.
void wait_for_block();

/// Lays `value` down for the other threads of the warp and waits until all of `mask` that have not
/// ended have done so too. Then `lane_value` gives what they laid down, until the next call.
void exchange(unsigned mask, std::uint64_t value);
std::uint64_t lane_value(unsigned lane);

/// The place of this thread in its warp.
unsigned lane();

}  // namespace rueda::standin
