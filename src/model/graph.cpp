#include "rueda/model/graph.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "rueda/core/error.hpp"
#include "rueda/model/flops.hpp"
#include "rueda/model/fusion.hpp"

namespace rueda {
namespace {

[[noreturn]] void refuse(const std::string& layer, const std::string& why) {
  throw InputError("layer " + layer + ": " + why + "; choose a larger --image-size");
}

int window_output(const std::string& layer, int extent, int kernel, int stride, int padding) {
  const int room = extent + 2 * padding - kernel;
  if (room < 0) {
    refuse(layer, "a window of " + std::to_string(kernel) + " does not fit " +
                      std::to_string(extent) + " pixels");
  }
  return room / stride + 1;
}

std::size_t product(const std::vector<int>& dims) {
  std::size_t n = 1;
  for (const int d : dims) n *= std::size_t(d);
  return n;
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name, Shape input, Origin origin) {
  graph_.name_ = std::move(name);
  graph_.origin_ = origin;
  append("input", InputNode{}, {}, input);
}

NodeId GraphBuilder::append(const std::string& name, NodeKind kind, std::vector<NodeId> inputs,
                            Shape output) {
  graph_.nodes_.push_back({name, std::move(kind), std::move(inputs), output});
  return graph_.logits();
}

ParameterId GraphBuilder::declare(Parameter parameter) {
  parameter.count = product(parameter.dims);
  graph_.parameters_.push_back(std::move(parameter));
  return static_cast<ParameterId>(graph_.parameters_.size()) - 1;
}

std::string GraphBuilder::named(const std::string& layer, const char* pytorch,
                                const char* keras) const {
  return graph_.origin_ == Origin::keras ? layer + "/" + keras : layer + "." + pytorch;
}

ParameterId GraphBuilder::declare_bias(const std::string& layer, int units, Init init,
                                       ParameterId weight) {
  const Parameter& like = graph_.parameter(weight);
  return declare({.name = named(layer, "bias", "bias"),
                  .dims = {units},
                  .init = init,
                  .fan_in = like.fan_in,
                  .fan_out = like.fan_out});
}

NodeId GraphBuilder::conv(const std::string& name, NodeId x, const ConvOptions& o) {
  const Shape in = shape(x);
  const Shape out{o.filters, window_output(name, in.height, o.kernel, o.stride, o.padding),
                  window_output(name, in.width, o.kernel, o.stride, o.padding)};
  const int window = o.kernel * o.kernel;
  ConvNode conv{o.filters, o.kernel, o.stride, o.padding, kNone, kNone};
  conv.weight = declare({.name = named(name, "weight", "kernel"),
                         .dims = {o.filters, o.kernel, o.kernel, in.channels},
                         .init = o.weight_init,
                         .fan_in = window * in.channels,
                         .fan_out = window * o.filters});
  if (o.bias) conv.bias = declare_bias(name, o.filters, o.bias_init, conv.weight);
  return append(name, conv, {x}, out);
}

NodeId GraphBuilder::batch_norm(const std::string& name, NodeId x, BatchNormNode norm) {
  const Shape in = shape(x);
  norm.gamma =
      declare({.name = named(name, "weight", "gamma"), .dims = {in.channels}, .init = Init::ones});
  norm.beta =
      declare({.name = named(name, "bias", "beta"), .dims = {in.channels}, .init = Init::zeros});
  norm.statistics_offset = graph_.statistics_count_;
  graph_.statistics_count_ += 2 * std::size_t(in.channels);
  return append(name, norm, {x}, in);
}

NodeId GraphBuilder::add(const std::string& name, NodeId a, NodeId b, bool relu) {
  if (shape(a) != shape(b)) throw InputError("layer " + name + ": cannot add unequal shapes");
  return append(name, AddNode{relu}, {a, b}, shape(a));
}

NodeId GraphBuilder::max_pool(const std::string& name, NodeId x, const MaxPoolNode& o) {
  const Shape in = shape(x);
  const Shape out{in.channels, window_output(name, in.height, o.kernel, o.stride, o.padding),
                  window_output(name, in.width, o.kernel, o.stride, o.padding)};
  return append(name, o, {x}, out);
}

NodeId GraphBuilder::pad_shortcut(const std::string& name, NodeId x, int channels, int stride) {
  const Shape in = shape(x);
  if (channels < in.channels || (channels - in.channels) % 2 != 0) {
    throw InputError("layer " + name + ": cannot pad " + std::to_string(in.channels) + " to " +
                     std::to_string(channels) + " channels evenly");
  }
  const Shape out{channels, window_output(name, in.height, 1, stride, 0),
                  window_output(name, in.width, 1, stride, 0)};
  return append(name, PadShortcutNode{stride}, {x}, out);
}

NodeId GraphBuilder::global_average_pool(const std::string& name, NodeId x) {
  return append(name, GlobalAveragePoolNode{}, {x}, {shape(x).channels, 1, 1});
}

NodeId GraphBuilder::dense(const std::string& name, NodeId x, const DenseOptions& o) {
  const int inputs = int(shape(x).elements());
  DenseNode dense{o.units, kNone, kNone};
  dense.weight = declare({.name = named(name, "weight", "kernel"),
                          .dims = {o.units, inputs},
                          .init = o.weight_init,
                          .fan_in = inputs,
                          .fan_out = o.units});
  dense.bias = declare_bias(name, o.units, o.bias_init, dense.weight);
  return append(name, dense, {x}, {o.units, 1, 1});
}

Graph GraphBuilder::finish() && {
  std::vector<Parameter> ordered;
  ordered.reserve(graph_.parameters_.size());
  for (auto node = graph_.nodes_.rbegin(); node != graph_.nodes_.rend(); ++node) {
    for_each_parameter(node->kind, [&](ParameterId& id) {
      Parameter& parameter = graph_.parameters_[std::size_t(id)];
      parameter.offset = graph_.parameter_count_;
      graph_.parameter_count_ += parameter.count;
      ordered.push_back(std::move(parameter));
      id = static_cast<ParameterId>(ordered.size()) - 1;
    });
  }
  graph_.parameters_ = std::move(ordered);
  return std::move(graph_);
}

/// Copies a graph node by node, leaving out what an addition takes in.
class GraphFusion {
 public:
  GraphFusion(const Graph& graph, const FusionRules& rules) : from_(graph), rules_(rules) {
    readers_.resize(graph.nodes().size());
    for (const Node& node : graph.nodes())
      for (const NodeId input : node.inputs) ++readers_[index(input)];
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
    for (const NodeId summand : summands)
      if (summand != from_.input() && adds(summand, add)) return summand;
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
    if (auto* norm = std::get_if<BatchNormNode>(&node.kind))
      norm->relu = std::get<AddNode>(addition.kind).relu;
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
    sum += (reads_image ? 2 : 3) * forward_flops(graph, id);
  }
  return sum;
}

}  // namespace rueda
