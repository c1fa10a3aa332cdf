#pragma once

#include <cstddef>
#include <vector>

#include "rueda/model/graph.hpp"

namespace rueda {

/// Buckets are slices of the gradient arena, one behind the other; bucket i ends before float
/// `ends[i]`. By bucket: the node whose backward completes it, backward going from the last node to
/// the first. A bucket without parameters counts as complete when the one before it is, or, as the
/// first, after the last node.
std::vector<NodeId> completing_nodes(const Graph& graph, const std::vector<std::size_t>& ends);

}  // namespace rueda
