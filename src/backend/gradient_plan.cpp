#include "backend/gradient_plan.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace rueda {
namespace {

class Router {
 public:
  Router(const Graph& graph, const std::vector<OperationNeeds>& needs)
      : graph_(graph), needs_(needs) {
    plan_.routes.resize(graph.nodes().size());
  }

  GradientPlan plan() && {
    const NodeId last = graph_.logits();
    route(last).incoming = {declare(last, last + 1, last)};
    for (NodeId node = last; node >= 1; --node) {
      combine_incoming(node);
      route_to_inputs(node);
    }
    return std::move(plan_);
  }

 private:
  GradientRoute& route(NodeId node) { return plan_.routes[index(node)]; }
  const OperationNeeds& needs(NodeId node) const { return needs_[index(node)]; }

  int declare(NodeId of, NodeId from, NodeId to) {
    plan_.buffers.push_back({of, from, to});
    return int(plan_.buffers.size()) - 1;
  }
  void extend_to(int buffer, NodeId to) {
    NodeId& last = plan_.buffers[std::size_t(buffer)].to;
    last = std::min(last, to);  // backward goes from the last node to the first
  }

  /// Fewer incoming contributions than the operation takes need nothing; more are summed first.
  void combine_incoming(NodeId node) {
    GradientRoute& g = route(node);
    if (g.incoming.empty())
      throw RunError("layer " + graph_.node(node).name + " has no reader: not a trainable graph");
    const std::size_t taken = needs(node).sums_gradients ? 2 : 1;
    if (g.incoming.size() > taken) g.sum = declare(node, node, node);
  }

  /// The image itself needs no gradient, so whatever reads the input node is not asked for one.
  void route_to_inputs(NodeId node) {
    const auto& inputs = graph_.node(node).inputs;
    GradientRoute& g = route(node);
    const bool shared = needs(node).shares_input_gradient;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const NodeId input = inputs[i];
      const bool wanted = input != graph_.input();
      if (wanted && (needs(node).passes_gradient >> i & 1U) != 0) {
        g.outgoing.push_back(g.sum >= 0 ? g.sum : g.incoming.front());
        extend_to(g.outgoing.back(), input);
      } else if (shared && i > 0 && g.outgoing.front() >= 0) {
        extend_to(g.outgoing.front(), input);
      } else if (shared && i > 0) {
        throw RunError("layer " + graph_.node(node).name + " adds to the image itself");
      } else if (wanted) {
        g.outgoing.push_back(declare(input, node, input));
      } else {
        g.outgoing.push_back(-1);
      }
      if (i == 0) take_addend(node);
      const int contribution = g.outgoing.back();
      if (contribution >= 0) route(input).incoming.push_back(contribution);
    }
  }

  /// What an earlier reader contributed to the first input's gradient goes into
  /// this node's contribution, where the operation can do that on its way.
  void take_addend(NodeId node) {
    GradientRoute& g = route(node);
    std::vector<int>& others = route(graph_.node(node).inputs.front()).incoming;
    if (!needs(node).adds_to_gradient || g.outgoing.front() < 0 || others.empty()) return;
    g.addend = others.back();
    others.pop_back();
  }

  const Graph& graph_;
  const std::vector<OperationNeeds>& needs_;
  GradientPlan plan_;
};

}  // namespace

GradientPlan plan_gradients(const Graph& graph, const std::vector<OperationNeeds>& needs) {
  return Router(graph, needs).plan();
}

}  // namespace rueda
