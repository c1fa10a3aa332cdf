#include "rueda/model/flops.hpp"

#include <algorithm>
#include <variant>

namespace rueda {

std::uint64_t forward_flops(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (const auto* conv = std::get_if<ConvNode>(&node.kind)) {
    const auto kernel = std::uint64_t(conv->kernel);
    const auto channels = std::uint64_t(graph.shape(node.inputs.at(0)).channels);
    return 2 * node.output.elements() * kernel * kernel * channels;
  }
  if (std::holds_alternative<DenseNode>(node.kind)) {
    return 2 * node.output.elements() * graph.shape(node.inputs.at(0)).elements();
  }
  return 0;
}

std::uint64_t forward_flops(const Graph& graph) {
  std::uint64_t sum = 0;
  for (NodeId id = 0; id <= graph.logits(); ++id) sum += forward_flops(graph, id);
  return sum;
}

std::uint64_t training_flops(const Graph& graph) {
  std::uint64_t sum = 0;
  for (NodeId id = 0; id <= graph.logits(); ++id) {
    const bool reads_image = std::ranges::count(graph.node(id).inputs, graph.input()) > 0;
    sum += (reads_image ? 2 : 3) * forward_flops(graph, id);
  }
  return sum;
}

}  // namespace rueda
