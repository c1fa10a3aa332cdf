#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rueda {

/// A point in a device's order of work. 0 has always passed, which is all that a host needs.
struct Event {
  std::uint64_t id = 0;
};

/// The narrow view that an all-reduce has of a device: enough to add, copy and order work, nothing
/// that could train. Pointers are the device's own; MPI receives them as they are.
class ReduceDevice {
 public:
  virtual ~ReduceDevice() = default;

  /// into[i] = into[i] + from[i] for all i; lengths agree. Queued, not awaited.
  virtual void add(std::span<float> into, std::span<const float> from) = 0;
  /// to[i] = from[i] for all i; lengths agree, no overlap. Queued, not awaited.
  virtual void copy(std::span<float> to, std::span<const float> from) = 0;
  /// An event that passes when all work queued so far is done.
  virtual Event record() = 0;
  /// Blocks the calling thread until `event` has passed: needed before MPI reads or reuses memory.
  virtual void wait(Event event) = 0;
  /// Memory of at least `count` floats that MPI may receive into. The same memory at every call;
  /// grown, hence moved, only when `count` exceeds every earlier one.
  virtual std::span<float> scratch(std::size_t count) = 0;
};

}  // namespace rueda
