#pragma once

#include <cstddef>

namespace rueda {

/// Bytes of this machine's memory that programs can still take without swapping, within what the
/// control group of this process leaves; 0 if the system does not tell.
std::size_t available_host_memory();

}  // namespace rueda
