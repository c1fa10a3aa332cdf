#pragma once

#include <cstddef>
#include <vector>

#include "rueda/model/graph.hpp"

namespace rueda {

/// How the gradient arena is cut into buckets.
struct BucketOptions {
  std::size_t most_bytes = 25'000'000;  ///< of one bucket; 0: no limit, one bucket
  bool tail_apart = false;  ///< what is not a gradient (GradientLayout) in a bucket of its own
};

/// The longest first and last bucket: short ones, so that communication begins early, and little of
/// it is left when backward ends.
inline constexpr std::size_t kOuterBucketBytes = 1'000'000;

/// Where the buckets end, in floats, in the order in which backward completes them. Tensors are not
/// cut: one that is longer than the limit has a bucket for itself. The tail goes with the last.
std::vector<std::size_t> plan_buckets(const Graph& graph, const BucketOptions& options);

/// Buckets are slices of the gradient arena, one behind the other; bucket i ends before float
/// `ends[i]`. By bucket: the node whose backward completes it, backward going from the last node to
/// the first. A bucket without parameters counts as complete when the one before it is, or, as the
/// first, after the last node.
std::vector<NodeId> completing_nodes(const Graph& graph, const std::vector<std::size_t>& ends);

}  // namespace rueda
