#pragma once

#include <vector>

#include "rueda/backend/operation.hpp"
#include "rueda/backend/precision.hpp"
#include "rueda/model/graph.hpp"

namespace rueda {

/// Which outputs are made again in backward, and when.
struct RecomputePlan {
  /// By node: before whose backward its output is made again; kNever if it is kept, or if nobody
  /// needs it any more.
  std::vector<NodeId> before;
  static constexpr NodeId kNever = -1;
  bool repeats(NodeId node) const { return before[static_cast<std::size_t>(node)] != kNever; }
};

/// `needs` by node. Blocks end with additions, which may be fused into other nodes, and with the
/// pooling of a stem; their last outputs are kept (Chen et al., arXiv 1604.06174, with blocks for
/// segments).
RecomputePlan plan_recompute(const Graph& graph, const std::vector<OperationNeeds>& needs,
                             Recompute what);

}  // namespace rueda
