#include "model/gpu_fusion.hpp"

#include <variant>

namespace rueda {
namespace {

/// Another reader's share comes as the addend, that of two others would be
/// summed later. A convolution that adds another's output passes its gradient on.
bool norm_sums_bias(const Graph& graph, NodeId conv) {
  const auto readers = graph.readers(conv);
  if (readers.empty() || readers.size() > 2) return false;
  const Node& first = graph.node(readers.front());
  const bool reads_first = first.inputs.front() == conv;
  if (std::holds_alternative<ConvNode>(first.kind))
    return readers.size() == 1 && !reads_first && norm_sums_bias(graph, readers.front());
  const bool reads_once = readers.size() == 1 || readers[0] != readers[1];
  return std::holds_alternative<BatchNormNode>(first.kind) && reads_once && reads_first;
}

}  // namespace

ParameterId summed_bias(const Graph& graph, NodeId id) {
  const auto* conv = std::get_if<ConvNode>(&graph.node(id).kind);
  if (conv == nullptr || !norm_sums_bias(graph, id)) return kNone;
  return conv->bias;
}

std::optional<NodeId> norm_to_sum(const Graph& graph, NodeId conv) {
  if (!std::holds_alternative<ConvNode>(graph.node(conv).kind)) return std::nullopt;
  for (const NodeId id : graph.readers(conv)) {
    const Node& reader = graph.node(id);
    const bool is_norm = std::holds_alternative<BatchNormNode>(reader.kind);
    if (is_norm && reader.inputs.front() == conv) return id;
  }
  return std::nullopt;
}

bool has_addition(const Node& node) {
  const auto* conv = std::get_if<ConvNode>(&node.kind);
  return conv != nullptr && (conv->bias != kNone || node.inputs.size() == 2);
}

}  // namespace rueda
