#include "rueda/model/fusion.hpp"

#include <algorithm>
#include <optional>

namespace rueda {

/// Copies a graph node by node, leaving out what an addition takes in.
class GraphFusion {
 public:
  GraphFusion(const Graph& graph, const FusionRules& rules) : from_(graph), rules_(rules) {
    readers_.resize(graph.nodes().size());
    for (const Node& node : graph.nodes()) {
      for (const NodeId input : node.inputs) ++readers_[index(input)];
    }
    find_partners();
  }

  Graph fused() {
    Graph to = from_;
    to.nodes_.clear();
    std::vector<NodeId> place(from_.nodes().size(), 0);
    for (NodeId id = 0; id <= from_.logits(); ++id) {
      if (taken_[index(id)]) continue;
      Node node = partner_[index(id)] ? merged(id, *partner_[index(id)]) : from_.node(id);
      for (NodeId& input : node.inputs) input = place[index(input)];
      place[index(id)] = static_cast<NodeId>(to.nodes_.size());
      to.nodes_.push_back(std::move(node));
    }
    return to;
  }

 private:
  static std::size_t index(NodeId id) { return std::size_t(id); }

  void find_partners() {
    partner_.resize(from_.nodes().size());
    taken_.resize(from_.nodes().size(), false);
    for (NodeId id = 0; id <= from_.logits(); ++id) {
      const auto* add = std::get_if<AddNode>(&from_.node(id).kind);
      if (add == nullptr) continue;
      partner_[index(id)] = find_partner(id, *add);
      if (partner_[index(id)]) taken_[index(*partner_[index(id)])] = true;
    }
  }

  /// The later of the two summands first: it lies closest to the addition, so that the order in
  /// which backward finishes the gradients stays what the arenas expect.
  std::optional<NodeId> find_partner(NodeId id, const AddNode& add) const {
    auto summands = from_.node(id).inputs;
    std::sort(summands.rbegin(), summands.rend());
    for (const NodeId summand : summands) {
      if (summand != from_.input() && adds(summand, add)) return summand;
    }
    return std::nullopt;
  }

  bool adds(NodeId summand, const AddNode& add) const {
    const Node& node = from_.node(summand);
    if (readers_[index(summand)] != 1 || node.inputs.size() != 1) return false;
    if (std::holds_alternative<ConvNode>(node.kind)) return rules_.conv_adds && !add.relu;
    const auto* norm = std::get_if<BatchNormNode>(&node.kind);
    return norm != nullptr && rules_.batch_norm_adds && !norm->relu;
  }

  Node merged(NodeId id, NodeId summand) const {
    const Node& addition = from_.node(id);
    Node node = from_.node(summand);
    node.name = addition.name;
    const bool first = addition.inputs.front() == summand;
    node.inputs.push_back(first ? addition.inputs.back() : addition.inputs.front());
    if (auto* norm = std::get_if<BatchNormNode>(&node.kind)) {
      norm->relu = std::get<AddNode>(addition.kind).relu;
    }
    return node;
  }

  const Graph& from_;
  FusionRules rules_;
  std::vector<int> readers_;
  std::vector<std::optional<NodeId>> partner_;  ///< by addition
  std::vector<bool> taken_;
};

Graph fuse_additions(const Graph& graph, const FusionRules& rules) {
  return GraphFusion(graph, rules).fused();
}

}  // namespace rueda
