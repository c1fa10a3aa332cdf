#include <algorithm>

#include "rueda/backend/program.hpp"

namespace rueda {
namespace {

std::size_t index(NodeId node) { return std::size_t(node); }

bool ends_block(const Node& node) {
  return node.inputs.size() > 1 || std::holds_alternative<MaxPoolNode>(node.kind);
}

/// A subsampling shortcut is part of its block: the pooling that ends a stem has no way round it.
bool is_shortcut(const Graph& graph, NodeId node) {
  const NodeId input = graph.node(node).inputs.front();
  int readers = 0;
  for (const Node& other : graph.nodes()) {
    readers += int(std::count(other.inputs.begin(), other.inputs.end(), input));
  }
  return readers > 1;
}

/// By node: the last node of its block.
std::vector<NodeId> block_ends(const Graph& graph) {
  std::vector<NodeId> ends(graph.nodes().size());
  NodeId end = graph.logits();
  for (NodeId node = graph.logits(); node >= 1; --node) {
    const Node& n = graph.node(node);
    if (ends_block(n) && (n.inputs.size() > 1 || !is_shortcut(graph, node))) end = node;
    ends[index(node)] = end;
  }
  return ends;
}

/// The first in backward to read what `node` put out: the last reader that keeps it, or the node
/// itself; kNever if none does.
NodeId first_user(const Graph& graph, const std::vector<OperationNeeds>& needs, NodeId node) {
  NodeId user = needs[index(node)].keeps_output ? node : RecomputePlan::kNever;
  for (NodeId reader = node + 1; reader <= graph.logits(); ++reader) {
    const auto& inputs = graph.node(reader).inputs;
    if (needs[index(reader)].keeps_input && inputs.front() == node) user = reader;
  }
  return user;
}

void plan_batch_norms(const Graph& graph, const std::vector<OperationNeeds>& needs,
                      RecomputePlan& plan) {
  for (NodeId node = 1; node <= graph.logits(); ++node) {
    const Node& n = graph.node(node);
    if (!std::holds_alternative<BatchNormNode>(n.kind) || n.inputs.size() > 1) continue;
    plan.before[index(node)] = first_user(graph, needs, node);
  }
}

/// Whatever a repeated node reads inside its block is repeated too.
void plan_blocks(const Graph& graph, const std::vector<OperationNeeds>& needs,
                 RecomputePlan& plan) {
  const std::vector<NodeId> ends = block_ends(graph);
  std::vector<bool> wanted(graph.nodes().size(), false);
  for (NodeId node = graph.logits(); node >= 1; --node) {
    const NodeId end = ends[index(node)];
    if (node == end) continue;
    if (!wanted[index(node)] && first_user(graph, needs, node) == RecomputePlan::kNever) continue;
    plan.before[index(node)] = end;
    for (const NodeId input : graph.node(node).inputs) wanted[index(input)] = true;
  }
}

}  // namespace

RecomputePlan plan_recompute(const Graph& graph, const std::vector<OperationNeeds>& needs,
                             Recompute what) {
  RecomputePlan plan;
  plan.before.assign(graph.nodes().size(), RecomputePlan::kNever);
  if (what == Recompute::batch_norm) plan_batch_norms(graph, needs, plan);
  if (what == Recompute::block) plan_blocks(graph, needs, plan);
  return plan;
}

}  // namespace rueda
