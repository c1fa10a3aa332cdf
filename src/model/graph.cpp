#include "rueda/model/graph.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "model/fusion.hpp"
#include "model/graph_builder.hpp"

namespace rueda {
namespace {

/// What windows over `in` put out; MaxPoolNode or ConvOptions says which windows.
template <typename Window>
Shape window_output(const std::string& layer, const Shape& in, int channels, const Window& w) {
  const auto along = [&](int extent) {
    const int room = extent + 2 * w.padding - w.kernel;
    require(
        room >= 0,
        fmt::format("layer {}: a window of {} does not fit {} pixels; choose a larger --image-size",
                    layer, w.kernel, extent));
    return room / w.stride + 1;
  };
  return {channels, along(in.height), along(in.width)};
}

/// Whether the operation of `summand` can make the addition as well.
bool takes_addition(const Graph& graph, const FusionRules& rules, NodeId summand,
                    const AddNode& add) {
  const Node& node = graph.node(summand);
  if (graph.readers(summand).size() != 1 || node.inputs.size() != 1) return false;
  if (std::holds_alternative<ConvNode>(node.kind)) return rules.conv_adds && !add.relu;
  const auto* norm = std::get_if<BatchNormNode>(&node.kind);
  return norm != nullptr && rules.batch_norm_adds && !norm->relu;
}

/// Of an addition, the summand whose operation makes it too. The later of the
/// two first: it lies closest to the addition, so that the order in which
/// backward finishes the gradients stays what the arenas expect.
std::optional<NodeId> find_partner(const Graph& graph, const FusionRules& rules, NodeId id) {
  const auto* add = std::get_if<AddNode>(&graph.node(id).kind);
  if (add == nullptr) return std::nullopt;
  auto summands = graph.node(id).inputs;
  std::ranges::sort(summands, std::greater());
  for (const NodeId summand : summands)
    if (takes_addition(graph, rules, summand, *add)) return summand;
  return std::nullopt;
}

/// `partner`, which is node `id`, with the addition in it.
Node merged(const Node& addition, Node partner, NodeId id) {
  partner.name = addition.name;
  NodeId other = addition.inputs.front();
  if (other == id) other = addition.inputs.back();
  partner.inputs.push_back(other);
  if (auto* norm = std::get_if<BatchNormNode>(&partner.kind))
    norm->relu = std::get<AddNode>(addition.kind).relu;
  return partner;
}

}  // namespace

std::vector<NodeId> Graph::readers(NodeId id) const {
  std::vector<NodeId> readers;
  for (NodeId reader = id + 1; reader <= logits(); ++reader)
    readers.insert(readers.end(), std::ranges::count(node(reader).inputs, id), reader);
  return readers;
}

GraphBuilder::GraphBuilder(std::string name, Shape input, Origin origin) {
  graph_.name_ = std::move(name);
  graph_.origin_ = origin;
  append("input", InputNode{}, {}, input);
}

NodeId GraphBuilder::append(const std::string& name, NodeKind kind, std::vector<NodeId> inputs,
                            Shape output) {
  graph_.nodes_.push_back({name, kind, std::move(inputs), output});
  return graph_.logits();
}

ParameterId GraphBuilder::declare(Parameter parameter) {
  parameter.count = 1;
  for (const int extent : parameter.dims) parameter.count *= std::size_t(extent);
  graph_.parameters_.push_back(std::move(parameter));
  return static_cast<ParameterId>(graph_.parameters_.size()) - 1;
}

std::string GraphBuilder::named(const std::string& layer, const char* pytorch,
                                const char* keras) const {
  if (graph_.origin_ == Origin::keras) return layer + "/" + keras;
  return layer + "." + pytorch;
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
  const int window = o.kernel * o.kernel;
  ConvNode conv{o.filters, o.kernel, o.stride, o.padding, kNone, kNone};
  conv.weight = declare({.name = named(name, "weight", "kernel"),
                         .dims = {o.filters, o.kernel, o.kernel, in.channels},
                         .init = o.weight_init,
                         .fan_in = window * in.channels,
                         .fan_out = window * o.filters});
  if (o.bias) conv.bias = declare_bias(name, o.filters, o.bias_init, conv.weight);
  return append(name, conv, {x}, window_output(name, in, o.filters, o));
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
  return append(name, o, {x}, window_output(name, shape(x), shape(x).channels, o));
}

NodeId GraphBuilder::pad_shortcut(const std::string& name, NodeId x, int channels, int stride) {
  const Shape in = shape(x);
  require(channels >= in.channels && (channels - in.channels) % 2 == 0,
          "layer " + name + ": cannot pad " + std::to_string(in.channels) + " to " +
              std::to_string(channels) + " channels evenly");
  const MaxPoolNode pixels{.stride = stride};
  return append(name, PadShortcutNode{stride}, {x}, window_output(name, in, channels, pixels));
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

Graph fuse_additions(const Graph& graph, const FusionRules& rules) {
  std::vector<std::optional<NodeId>> partners;
  std::vector<bool> taken(graph.nodes().size(), false);
  for (NodeId id = 0; id <= graph.logits(); ++id) {
    partners.push_back(find_partner(graph, rules, id));
    if (partners.back()) taken[index(*partners.back())] = true;
  }
  Graph to = graph;
  to.nodes_.clear();
  std::vector<NodeId> place(graph.nodes().size(), 0);
  for (NodeId id = 0; id <= graph.logits(); ++id) {
    if (taken[index(id)]) continue;
    const auto partner = partners[index(id)];
    Node node = graph.node(id);
    if (partner) node = merged(node, graph.node(*partner), *partner);
    for (NodeId& input : node.inputs) input = place[index(input)];
    place[index(id)] = static_cast<NodeId>(to.nodes_.size());
    to.nodes_.push_back(std::move(node));
  }
  return to;
}

}  // namespace rueda
