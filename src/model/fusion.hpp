#pragma once

#include "rueda/model/graph.hpp"

namespace rueda {

/// Which operations can take a second input and add it to their result on the way.
struct FusionRules {
  bool conv_adds = false;        ///< only where no ReLU follows the addition
  bool batch_norm_adds = false;  ///< then the addition's ReLU is the batch norm's
};

/// The same network with additions moved into the operation that makes one of
/// their summands, where the rules allow it and no other node reads that
/// summand. Such a ConvNode or BatchNormNode has a second input; the fused node
/// has the addition's name. Parameters stay as they are.
Graph fuse_additions(const Graph& graph, const FusionRules& rules);

}  // namespace rueda
