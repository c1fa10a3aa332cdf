#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rueda/model/graph.hpp"
#include "rueda/model/work.hpp"

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

/// Elements of the first input that a node reads, for one image: strides may leave out most of
/// them.
double touched_elements(const Graph& graph, const Node& node);

/// The kernels of one node and pass for `batch` images, as conventional fusion
/// leaves them, where no activation stays in a cache. Activations and the
/// weights that are multiplied take `element_bytes` an element, weight gradients
/// 4. A convolution's backward is two products. Batch norm reads its input
/// twice: for sums, then for the result. ReLU and additions are part of what
/// comes before or after where that can be. Of a tensor with several readers,
/// the first (the last one in backward) adds the others' gradients to its own.
std::vector<Work> work_of(const Graph& graph, NodeId id, Pass pass, std::size_t batch,
                          std::size_t element_bytes);

}  // namespace rueda
