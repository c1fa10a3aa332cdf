#pragma once

#include <cstddef>

namespace rueda::standin {

/// Memory for a device: host memory of this process, or what the driver named by
/// RUEDA_STANDIN_DRIVER gives, which other processes can share. Null if there is none.
void* take_memory(std::size_t bytes);
void give_memory_back(void* memory);

inline constexpr std::size_t kMemoryAlignment = 512;

}  // namespace rueda::standin
