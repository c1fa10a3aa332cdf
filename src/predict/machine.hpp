#pragma once

#include <cstddef>

namespace rueda::predict {

/// What a message costs on a link: alpha + bytes * beta (R. Hockney: The communication challenge
/// for MPP, *Parallel Computing* 20(3), 389-398, 1994).
struct Link {
  double alpha = 0;  ///< seconds for each message
  double beta = 0;   ///< seconds for each byte, 1 / bandwidth
  double message_seconds(double bytes) const noexcept { return alpha + bytes * beta; }
};

/// A machine of nodes with `ranks_per_node` ranks each, the last node with as many as are left.
/// Ranks are dealt node by node. One level: all ranks on one node, or one rank on each.
struct Machine {
  Link inside;       ///< between ranks of a node
  Link between;      ///< between nodes
  double gamma = 0;  ///< seconds for each byte that a rank adds
  std::size_t ranks_per_node = 1;
  /// How many messages of a node's ranks go out at full speed at the same time; more share.
  std::size_t links_per_node = 1;

  bool spans_nodes(std::size_t ranks) const noexcept { return ranks > ranks_per_node; }
};

}  // namespace rueda::predict
