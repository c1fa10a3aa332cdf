#pragma once

#include <algorithm>
#include <cstddef>

#include "base/split.hpp"

namespace rueda {

/// Which rank sends which chunk in which step: the arithmetic of the ring, without messages.
///
/// The slice is cut into P chunks. Rank r always sends to its right neighbour
/// r+1 and receives from its left neighbour r-1 (mod P). In step s of the
/// reduce-scatter (s = 0 ... P-2) it sends chunk r-s and receives chunk r-s-1,
/// which it adds to its own. After P-1 steps rank r holds the full sum of chunk
/// r+1. In step s of the all-gather it sends chunk r+1-s, which is complete,
/// and receives chunk r-s, which it keeps. (Patarasuk and Yuan, JPDC 69(2),
/// 2009: this moves the least possible bytes, 2(P-1)/P of the slice per rank
/// each way.)
struct RingPlan {
  std::size_t length = 0;  ///< elements of the slice; may be 0 or below `size`
  int rank = 0;
  int size = 1;

  int right() const noexcept { return wrap(rank + 1); }
  int left() const noexcept { return wrap(rank - 1); }
  int steps() const noexcept { return size - 1; }  ///< of each of the two phases

  int reduce_send(int step) const noexcept { return wrap(rank - step); }
  int reduce_receive(int step) const noexcept { return wrap(rank - step - 1); }
  int gather_send(int step) const noexcept { return wrap(rank + 1 - step); }
  int gather_receive(int step) const noexcept { return wrap(rank - step); }
  /// The chunk whose full sum this rank holds between the phases.
  int owned() const noexcept { return wrap(rank + 1); }

  Range chunk(int index) const noexcept {
    return even_split(length, std::size_t(size), std::size_t(index));
  }
  /// Elements of the largest chunk: what a receive buffer must hold.
  std::size_t largest_chunk() const noexcept { return chunk(0).size(); }

 private:
  int wrap(int i) const noexcept { return ((i % size) + size) % size; }
};

/// The cut of each chunk into segments, which travel one after another. All
/// chunks have as many, at the same positions, so that all ranks agree on every
/// message; where a chunk is shorter than the largest, its last segment is
/// shorter, or empty.
struct Segments {
  std::size_t length = 1;  ///< floats of each but the last
  std::size_t count = 1;   ///< at least 1

  /// Equal segments of about `wanted` floats of chunks of up to `largest_chunk`; 0: each chunk is
  /// one. A chunk that is a little longer than a segment costs no second message.
  static constexpr Segments of(std::size_t largest_chunk, std::size_t wanted) noexcept {
    const std::size_t longest = std::max<std::size_t>(largest_chunk, 1);
    if (wanted == 0) return {longest, 1};
    const std::size_t count = std::max<std::size_t>((longest + wanted / 2) / wanted, 1);
    const std::size_t length = (longest - 1) / count + 1;
    return {length, (longest - 1) / length + 1};
  }

  constexpr Range cut(Range chunk, std::size_t index) const noexcept {
    const std::size_t begin = std::min(chunk.end, chunk.begin + index * length);
    return {begin, std::min(chunk.end, begin + length)};
  }
  /// How many are worked on at once: one travels while the one before is added, where that
  /// `overlaps`.
  constexpr std::size_t in_flight(bool overlaps = true) const noexcept {
    return std::min<std::size_t>(count, overlaps ? 2 : 1);
  }
};

/// Floats that each of `ranks` ranks receives into while the ring sums a slice
/// of `length` in segments of `segment` floats, 0: whole chunks. `overlaps`: as of
/// Segments::in_flight.
inline std::size_t ring_scratch_floats(std::size_t length, int ranks, std::size_t segment = 0,
                                       bool overlaps = true) noexcept {
  if (ranks == 1 || length == 0) return 0;
  const Segments segments = Segments::of(RingPlan{length, 0, ranks}.largest_chunk(), segment);
  return segments.in_flight(overlaps) * segments.length;
}

}  // namespace rueda
