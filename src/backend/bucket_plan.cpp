#include "rueda/backend/bucket_plan.hpp"

#include <algorithm>

namespace rueda {
namespace {

struct OwnParameters {
  ParameterId first = kNone;
  ParameterId second = kNone;
};

OwnParameters parameters_of(const Node& node) {
  if (const auto* conv = std::get_if<ConvNode>(&node.kind)) return {conv->weight, conv->bias};
  if (const auto* norm = std::get_if<BatchNormNode>(&node.kind)) return {norm->gamma, norm->beta};
  if (const auto* dense = std::get_if<DenseNode>(&node.kind)) return {dense->weight, dense->bias};
  return {};
}

}  // namespace

std::vector<NodeId> completing_nodes(const Graph& graph, const std::vector<std::size_t>& ends) {
  std::vector<NodeId> nodes(ends.size(), graph.logits());
  for (NodeId id = graph.logits(); id >= 1; --id) {
    const OwnParameters own = parameters_of(graph.node(id));
    for (const ParameterId parameter : {own.first, own.second}) {
      if (parameter == kNone) continue;
      const Parameter& p = graph.parameter(parameter);
      for (std::size_t i = 0; i < ends.size(); ++i) {
        const std::size_t begin = i == 0 ? 0 : ends[i - 1];
        if (p.offset < ends[i] && p.offset + p.count > begin) nodes[i] = std::min(nodes[i], id);
      }
    }
  }
  for (std::size_t i = 1; i < nodes.size(); ++i) nodes[i] = std::min(nodes[i], nodes[i - 1]);
  return nodes;
}

}  // namespace rueda
