#include "model/flops.hpp"

#include <variant>

namespace rueda {
namespace {

/// Values that the other readers of a node's first input have made of its
/// gradient, for one image: the first reader, the last in backward, adds them.
double forked_elements(const Graph& graph, NodeId id) {
  const NodeId input = graph.node(id).inputs.front();
  const std::vector<NodeId> readers = graph.readers(input);
  if (readers.front() != id) return 0;
  return double((readers.size() - 1) * graph.shape(input).elements());
}

}  // namespace

double touched_elements(const Graph& graph, const Node& node) {
  const Shape in = graph.shape(node.inputs.front());
  int window = in.height;
  if (std::holds_alternative<PadShortcutNode>(node.kind)) window = 1;
  if (const auto* conv = std::get_if<ConvNode>(&node.kind)) window = conv->kernel;
  if (const auto* pool = std::get_if<MaxPoolNode>(&node.kind)) window = pool->kernel;
  const double read = double(window) * window * node.output.height * node.output.width;
  return std::min(double(in.elements()), read * in.channels);
}

std::uint64_t forward_flops(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (const auto* conv = std::get_if<ConvNode>(&node.kind)) {
    const auto kernel = std::uint64_t(conv->kernel);
    const auto channels = std::uint64_t(graph.shape(node.inputs.at(0)).channels);
    return 2 * node.output.elements() * kernel * kernel * channels;
  }
  if (std::holds_alternative<DenseNode>(node.kind))
    return 2 * node.output.elements() * graph.shape(node.inputs.at(0)).elements();
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
    const unsigned products = reads_image ? 2 : 3;
    sum += products * forward_flops(graph, id);
  }
  return sum;
}

std::vector<Work> work_of(const Graph& graph, NodeId id, Pass pass, std::size_t batch,
                          std::size_t element_bytes) {
  const Node& node = graph.node(id);
  if (node.inputs.empty()) return {};
  const bool backward = pass == Pass::backward;
  const double image_bytes = double(batch) * double(element_bytes);
  const auto move = [&](double elements) { return Work{0, elements * image_bytes}; };
  const auto x = double(graph.shape(node.inputs.front()).elements());
  const auto y = double(node.output.elements());
  const double residual = node.inputs.size() > 1 ? y : 0;
  double forked = 0;
  if (backward) forked = forked_elements(graph, id);
  if (const auto* norm = std::get_if<BatchNormNode>(&node.kind)) {
    const double masked = norm->relu ? residual : 0;  // the residual's gradient, made on the way
    if (backward) return {move(2 * y + 2 * masked), move(3 * y + forked)};
    if (pass == Pass::recompute) return {move(2 * y + residual)};
    return {move(y), move(2 * y + residual)};
  }
  if (const auto* add = std::get_if<AddNode>(&node.kind)) {
    if (backward && !add->relu) return {};  // the gradient of a sum is that of its summands
    return {move(3 * y + forked)};
  }
  const double touched = touched_elements(graph, node);
  const double flops = double(batch) * double(forward_flops(graph, id));
  if (flops == 0) {
    if (!backward) return {move(touched + y)};
    const bool has_winners = std::holds_alternative<MaxPoolNode>(node.kind);
    return {move(x + y + (has_winners ? y : 0) + forked)};
  }
  double weights = 0;
  for_each_parameter(node.kind, [&](auto p) { weights += double(graph.parameter(p).count); });
  const auto product = [&](double elements, std::size_t weight_bytes) {
    return Work{flops, elements * image_bytes + weights * double(weight_bytes)};
  };
  if (!backward) return {product(touched + y + residual, element_bytes)};
  if (node.inputs.front() == graph.input()) return {product(touched + y, sizeof(float))};
  return {product(touched + y, sizeof(float)), product(x + y + forked, element_bytes)};
}

}  // namespace rueda
