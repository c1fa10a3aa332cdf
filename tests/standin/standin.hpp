#pragma once

#include <cstddef>

// What a test may ask of the stand-in, and how it may change it. docs/testing.md says what the
// stand-in is.

namespace rueda {

/// Blocks of device and pinned memory handed out since the process began. A step that allocates
/// nothing leaves it as it was.
std::size_t standin_allocations();

/// Bytes of device memory in use on all devices, and the most there ever were since the process
/// began or `standin_reset_peak` was called.
std::size_t standin_bytes_in_use();
std::size_t standin_peak_bytes();
void standin_reset_peak();

/// How many freed blocks of device memory had been written past their end. Each is reported on
/// stderr too.
std::size_t standin_overruns();

}  // namespace rueda
