#pragma once

#include <optional>

#include "model/fusion.hpp"
#include "rueda/model/graph.hpp"

// Which work of a layer a GPU's kernels do on the way in a neighbour's: rules of
// what is launched (backend/launches.hpp).

namespace rueda {

inline constexpr FusionRules kGpuFusions{.conv_adds = true, .batch_norm_adds = true};

/// The bias of the convolution `id` if a batch norm sums its gradient on its way:
/// what the norm's backward writes is then the whole gradient of the
/// convolution's output. Else kNone.
ParameterId summed_bias(const Graph& graph, NodeId id);

/// The batch norm whose sums the convolution `conv` can take on its way.
std::optional<NodeId> norm_to_sum(const Graph& graph, NodeId conv);

/// Whether the node is a convolution with a bias or an addition. cuDNN's engines that take sums are
/// of an older kind (sm_80), like those that do this: so without tuned engines only such a
/// convolution takes sums too (docs/cuda.md#statistics-in-the-epilogue).
bool has_addition(const Node& node);

}  // namespace rueda
