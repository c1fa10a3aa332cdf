#pragma once

#include <vector>

#include "rueda/backend/operation.hpp"
#include "rueda/model/graph.hpp"

namespace rueda {

/// A gradient of a node's output, or one reader's contribution to it.
struct GradientBuffer {
  NodeId of;    ///< the node
  NodeId from;  ///< whose backward makes it; one more than the last node: the loss does
  NodeId to;    ///< whose backward is the last to read it
};

/// What one node's backward reads and writes: numbers of buffers; -1: none.
struct GradientRoute {
  std::vector<int> incoming;  ///< contributions of the output's readers
  int sum = -1;               ///< of these, where the operation cannot sum them itself
  std::vector<int> outgoing;  ///< to the inputs; -1: not wanted
  int addend = -1;            ///< another reader's contribution, which goes into the first outgoing

  /// Summands that the operation takes as its output's gradient.
  std::size_t summands() const noexcept { return sum >= 0 ? 1 : incoming.size(); }
  /// Additions that have to be made before.
  std::size_t sums() const noexcept { return sum >= 0 ? incoming.size() - 1 : 0; }
};

/// How the gradients of a backward pass go from node to node.
struct GradientPlan {
  std::vector<GradientBuffer> buffers;
  std::vector<GradientRoute> routes;  ///< by node
};

/// `needs` by node. Throws RunError naming a layer that has no reader, or that would add to the
/// image itself.
GradientPlan plan_gradients(const Graph& graph, const std::vector<OperationNeeds>& needs);

}  // namespace rueda
