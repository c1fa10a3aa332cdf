#pragma once

#include <cstddef>
#include <vector>

#include "reduce/cost_model.hpp"
#include "rueda/reduce/algorithm.hpp"

namespace rueda {

/// The facts from which `auto` follows, besides costs.
struct ReduceSituation {
  int ranks = 1;
  int hosts = 1;
  int most_on_a_host = 1;  ///< ranks
  bool memory_is_on_host = true;
  bool may_share = false;  ///< one host, whose shared memory has room for the arenas
  Wire wire = Wire::fp32;
  bool in_blocks = true;     ///< ranks are dealt host by host
  bool fixed_order = false;  ///< a sum has to add along TreeOrder, or is another one then
  bool keeps_tree = true;    ///< as of HostLayout::keeps_tree_order
};

/// Segments of a host's memory stay in the processor's cache until they are
/// added; those of a device between hosts are long enough for its links.
inline constexpr std::size_t kHostSegmentBytes = std::size_t{512} << 10;
inline constexpr std::size_t kDeviceSegmentBytes = std::size_t{4} << 20;

/// What a message between devices of a host and an addition there cost, as
/// stated for an H100 on NVLink, not measured: 30 us for a message through MPI,
/// 200 GB/s; 900 GB/s of sums, each of which is read twice and written once.
inline constexpr cost::Machine kDevicesOfHost{
    .inside = {30e-6, 1 / 200e9}, .between = {}, .gamma = 1 / 900e9, .ranks_per_node = SIZE_MAX};

/// The sums among which costs decide; the first is for equal costs. One host and
/// host memory: the shared window, whose costs the model does not know. Else the
/// ring, doubling and halving, and on several hosts of several ranks the
/// hierarchical sums; those between neighbours only where neighbours share a host.
/// With bf16 on the wire and in the fixed order only those that can.
std::vector<Algorithm> auto_candidates(const ReduceSituation& situation);

/// The table of `auto`: for each length the candidate that costs least by the
/// model. Without a choice, `machine` is not looked at.
ReduceTable reduce_rule(const ReduceSituation& situation, const cost::Machine& machine);

/// Segments where the user names none; 0: whole chunks.
/// Devices of one host take cost::best_segment_bytes of kDevicesOfHost: fewer
/// messages, unless an addition takes longer than a message is worth. Over
/// several hosts those of host memory are not cut: each piece would wait for
/// the slower direction of its exchange, which over TCP takes up to twice the
/// time (docs/cluster.md).
std::size_t usual_segment_bytes(const ReduceSituation& situation);

}  // namespace rueda
