#pragma once

#include <cstdint>

#include "rueda/model/graph.hpp"

namespace rueda {

/// Floating-point operations per image; a multiply-add counts as two. Only
/// convolutions and dense layers count, without their biases: normalisation,
/// ReLU, additions and pooling are left out, as is usual (they are about one
/// per cent of a ResNet's arithmetic and bound by memory anyway).

/// Of one node: convolution 2 * filters * out height * out width * kernel^2 * in channels, dense
/// 2 * units * inputs, anything else 0.
std::uint64_t forward_flops(const Graph& graph, NodeId id);
/// Of the whole network.
std::uint64_t forward_flops(const Graph& graph);
/// Of forward and backward: every counted layer also computes the gradients of its weights and of
/// its input, each as costly as forward, but the gradient of the image itself is not needed. So
/// 3 * forward less one forward of the convolutions that read the input.
std::uint64_t training_flops(const Graph& graph);

}  // namespace rueda
