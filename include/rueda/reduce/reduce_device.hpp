#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bfloat16.hpp"
#include "base/error.hpp"

namespace rueda {

/// What names a block of device memory to other processes of its host; only the device reads it.
using PeerHandle = std::array<std::byte, 64>;

/// Arrays that a device whose memory is not the host's sums at once.
inline constexpr std::size_t kMostSummed = 32;

/// A point in a device's order of work. 0 has always passed, which is all that a host needs.
struct Event {
  std::uint64_t id = 0;
};

/// The part of a device that an all-reduce needs: it adds, copies and orders
/// work. Pointers are the device's own, unless they are called host memory.
/// Work that is queued through one object is done in the order of the calls.
class ReduceDevice {
 public:
  virtual ~ReduceDevice() = default;

  /// into[i] = into[i] + from[i] for all i; lengths agree. Queued, not awaited.
  virtual void add(std::span<float> into, std::span<const float> from) = 0;
  /// to[i] = from[i] for all i; lengths agree, no overlap. Either may be of
  /// `host_scratch`. Queued, not awaited.
  virtual void copy(std::span<float> to, std::span<const float> from) = 0;

  // For a wire of bf16; lengths agree. Queued, not awaited.

  /// to[i] = from[i] rounded.
  virtual void narrow(std::span<kernels::Bfloat16> to, std::span<const float> from) = 0;
  /// into[i] = into[i] + from[i].
  virtual void add_narrow(std::span<float> into, std::span<const kernels::Bfloat16> from) = 0;
  /// to[i] = from[i].
  virtual void widen(std::span<float> to, std::span<const kernels::Bfloat16> from) = 0;

  /// to[k][i] = the sum of all from[r][i] in the order of TreeOrder, for all k and all i below
  /// `count` (tree_sum); where memory is not the host's, of up to kMostSummed arrays, into no more
  /// than there are. A target may be one of the sources. Arrays may be peers' (map_peer_block).
  /// Work on them has passed before, wherever it was queued. Done on return: who is told so then,
  /// in any process, reads the sum.
  virtual void sum_all(std::span<const float* const> from, std::span<float* const> to,
                       std::size_t count);
  /// The check sum of a message: kernels::message_check of all i, summed modulo
  /// 2^64. Done on return. All work on `values` has passed before; nothing else
  /// is waited for.
  virtual std::uint64_t check_sum(std::span<const float> values);
  /// An event that passes when all work that the device was given so far is
  /// done, through this object or not. It is waited for, once: until then the
  /// device keeps it.
  virtual Event record() = 0;
  /// The same for what was queued through this object: a device that computes
  /// meanwhile is not waited for.
  virtual Event record_own() { return record(); }
  /// Blocks the calling thread until `event` has passed: needed before MPI reads or reuses memory.
  virtual void wait(Event event) = 0;
  /// Work that another user of the device queues from now on begins after all
  /// work that was queued through this object so far. Does not block. Nothing to
  /// do where there is one queue only.
  virtual void others_wait() {}
  /// Memory of at least `count` floats that MPI may receive into. The same
  /// memory at every call; grown, hence moved, only when `count` exceeds every
  /// earlier one.
  virtual std::span<float> scratch(std::size_t count) = 0;

  /// Whether the device's memory is the host's, so that every MPI can read it.
  /// The rest is for devices of which that is not so.
  virtual bool memory_is_on_host() const = 0;
  /// Host memory of at least `count` floats, made for fast copies. Same and grown as `scratch`.
  virtual std::span<float> host_scratch(std::size_t count) = 0;

  // What processes of one host map into each other. A block outlives its
  // mappings. Throws RunError, also where the system does not allow it.

  /// `count` floats, at least one, of the device's memory, zeroed; `handle` is to be sent to peers.
  virtual std::shared_ptr<float[]> make_peer_block(std::size_t /*count*/, PeerHandle& /*handle*/) {
    throw RunError("this device's memory cannot be mapped by other processes");
  }
  /// The block of another process; unmapped with the last pointer.
  virtual std::shared_ptr<float[]> map_peer_block(const PeerHandle& /*theirs*/) {
    throw RunError("this device maps no memory of other processes");
  }
};

}  // namespace rueda
