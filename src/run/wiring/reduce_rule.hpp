#pragma once

#include <cstddef>

#include "reduce/cost_model.hpp"
#include "rueda/reduce/algorithm.hpp"

namespace rueda {

/// The facts from which `auto` follows.
struct ReduceSituation {
  int hosts = 1;
  int most_on_a_host = 1;  ///< ranks
  bool memory_is_on_host = true;
  bool may_share = false;  ///< one host, whose shared memory has room for the arenas
  Wire wire = Wire::fp32;
};

/// Up to here the messages are what a sum costs, beyond the bytes.
inline constexpr std::size_t kSmallBytes = std::size_t{64} << 10;
/// The same for two ranks of one host, where the ring needs one message more and half the
/// additions.
inline constexpr std::size_t kSmallBytesOfPair = std::size_t{16} << 10;

/// Segments of a host's memory stay in the processor's cache until they are
/// added; those of a device between hosts are long enough for its links.
inline constexpr std::size_t kHostSegmentBytes = std::size_t{512} << 10;
inline constexpr std::size_t kDeviceSegmentBytes = std::size_t{4} << 20;

/// What a message between devices of a host and an addition there cost, as
/// stated for an H100 on NVLink, not measured: 30 us for a message through MPI,
/// 200 GB/s; 900 GB/s of sums, each of which is read twice and written once.
inline constexpr cost::Machine kDevicesOfHost{
    .inside = {30e-6, 1 / 200e9}, .between = {}, .gamma = 1 / 900e9, .ranks_per_node = SIZE_MAX};

/// One host and host memory: the shared window, at every length. Else up to
/// kSmallBytes, or kSmallBytesOfPair, recursive doubling; above, the hierarchical sum for several
/// hosts of several ranks, and the ring for all others. With bf16 on the wire
/// there is no doubling.
ReduceTable reduce_rule(const ReduceSituation& situation);

/// Segments where the user names none; 0: whole chunks.
/// Devices of one host take cost::best_segment_bytes of kDevicesOfHost: fewer
/// messages, unless an addition takes longer than a message is worth. Over
/// several hosts those of host memory are not cut: each piece would wait for
/// the slower direction of its exchange, which over TCP takes up to twice the
/// time (docs/cluster.md).
std::size_t usual_segment_bytes(const ReduceSituation& situation);

}  // namespace rueda
