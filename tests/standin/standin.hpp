#pragma once

#include <cstddef>

// What a test may ask of the stand-in, and how it may change it. docs/dev/testing.md says what the
// stand-in is.

namespace rueda {

struct StandinMemory {
  /// Blocks of device and pinned memory handed out since the process began. A step that allocates
  /// nothing leaves it as it was.
  std::size_t allocations = 0;
  /// Bytes of device memory in use on all devices, and the most there ever were since the process
  /// began or `standin_reset_peak` was called.
  std::size_t in_use = 0, peak = 0;
  /// Freed blocks of device memory that had been written past their end. Each is reported on stderr
  /// too.
  std::size_t overruns = 0;
  /// Bytes that calls have asked to be copied from devices to the host.
  std::size_t to_host = 0;
};
StandinMemory standin_memory();
void standin_reset_peak();

}  // namespace rueda
