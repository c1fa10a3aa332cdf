#pragma once

#include <cstddef>

#include "rueda/reduce/algorithm.hpp"
#include "rueda/reduce/reduce_table.hpp"

namespace rueda {

/// What `--all-reduce auto` goes by where no table was measured.
struct ReduceSituation {
  int hosts = 1;
  int most_on_a_host = 1;  ///< ranks
  bool memory_is_on_host = true;
  bool may_share = false;  ///< one host, whose shared memory has room for the arenas
  Wire wire = Wire::fp32;
};

/// Up to here the messages are what a sum costs, beyond the bytes.
inline constexpr std::size_t kSmallBytes = std::size_t{64} << 10;

/// Segments of a host's memory stay in the processor's cache until they are added; those of a
/// device are long enough for its links.
inline constexpr std::size_t kHostSegmentBytes = std::size_t{256} << 10;
inline constexpr std::size_t kDeviceSegmentBytes = std::size_t{4} << 20;

/// One host and host memory: the shared window, at every length. Else up to kSmallBytes recursive
/// doubling; above, the hierarchical sum for several hosts of several ranks, and the ring for all
/// others. With bf16 on the wire there is no doubling.
ReduceTable reduce_rule(const ReduceSituation& situation);

/// Segments where neither a table nor the user names any; 0: whole chunks. Over several hosts those
/// of host memory are not cut: each piece would wait for the slower direction of its exchange,
/// which over TCP takes up to twice the time (docs/cluster.md).
std::size_t usual_segment_bytes(bool memory_is_on_host, bool between_hosts);

}  // namespace rueda
