#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bfloat16.hpp"
#include "base/element_hash.hpp"
#include "base/error.hpp"
#include "base/split.hpp"

namespace rueda {

// A device's loops for a wire of bf16 and for checked messages, on elements
// begin ... end-1, and for sums of several arrays. The calling thread does them
// alone.

inline void narrow_part(std::span<kernels::Bfloat16> to, std::span<const float> from,
                        std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) to[i] = kernels::from_float<kernels::Bfloat16>(from[i]);
}

inline void add_narrow_part(std::span<float> into, std::span<const kernels::Bfloat16> from,
                            std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) into[i] = into[i] + kernels::to_float(from[i]);
}

inline void widen_part(std::span<float> to, std::span<const kernels::Bfloat16> from,
                       std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) to[i] = kernels::to_float(from[i]);
}

inline std::uint64_t check_part(std::span<const float> values, std::size_t begin, std::size_t end) {
  std::uint64_t sum = 0;
  const float* v = values.data();
  for (std::size_t i = begin; i < end; ++i) sum += kernels::message_check(i, v[i]);
  return sum;
}

namespace tree_sum_detail {

/// Floats that are summed at a time: partial sums stay in the processor's first cache.
inline constexpr std::size_t kBlock = 1024;
using Block = std::array<float, kBlock>;

inline void add(float* __restrict to, const float* __restrict a, const float* __restrict b,
                std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}

inline void add_to(float* __restrict to, const float* __restrict a, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = to[i] + a[i];
}

/// The tree is that of TreeOrder: its left part is the largest power of two
/// below the number of summands. `at` is where the block begins in each source.
inline void sum_block(std::span<const float* const> from, std::size_t at, std::size_t count,
                      float* to) {
  if (from.size() == 1) {
    std::copy_n(from[0] + at, count, to);
  } else if (from.size() == 2) {
    add(to, from[0] + at, from[1] + at, count);
  } else {
    const std::size_t left = std::bit_floor(from.size() - 1);
    Block right;
    sum_block(from.first(left), at, count, to);
    sum_block(from.subspan(left), at, count, right.data());
    add_to(to, right.data(), count);
  }
}

}  // namespace tree_sum_detail

/// Adds up arrays in host memory element by element in the order of TreeOrder:
/// to[k][i] for every k and every i of `part` becomes the sum over r of
/// from[r][i]. One pass over memory, by the calling thread alone. A target may
/// be one of the sources; else nothing overlaps.
inline void tree_sum(std::span<const float* const> from, std::span<float* const> to, Range part) {
  using namespace tree_sum_detail;
  Block sum;
  for (std::size_t at = part.begin; at < part.end; at += kBlock) {
    const std::size_t length = std::min(kBlock, part.end - at);
    sum_block(from, at, length, sum.data());
    for (float* target : to) std::copy_n(sum.data(), length, target + at);
  }
}

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
                       std::size_t count) {
    tree_sum(from, to, {0, count});
  }
  /// The check sum of a message: kernels::message_check of all i, summed modulo
  /// 2^64. Done on return. All work on `values` has passed before; nothing else
  /// is waited for.
  virtual std::uint64_t check_sum(std::span<const float> values) {
    return check_part(values, 0, values.size());
  }
  /// An event that passes when all work that the device was given so far is
  /// done, through this object or not. It is waited for, once: until then the
  /// device keeps it.
  virtual Event record() = 0;
  /// The same for what was queued through this object: a device that computes
  /// meanwhile is not waited for.
  virtual Event record_own() { return record(); }
  /// Blocks the calling thread until `event` has passed: needed before MPI reads or reuses memory.
  virtual void wait(Event event) = 0;
  /// Work that this object or another user of the device queues from now on
  /// begins after all work that both have queued so far. Does not block.
  /// Nothing to do where there is one queue only.
  virtual void join() {}
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
