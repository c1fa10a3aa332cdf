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

/// The batch norm whose sums the convolution `conv` can take on its way, in
/// bf16. cuDNN's engines that do so are of an older kind (sm_80), like those
/// with bias and residual: hence only where there is an epilogue in any case
/// (docs/cuda.md#statistics-in-the-epilogue).
std::optional<NodeId> norm_to_sum(const Graph& graph, NodeId conv);

}  // namespace rueda
