#include "rueda/model/graph.hpp"

#include <utility>

#include "rueda/core/error.hpp"

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

NodeId GraphBuilder::batch_norm(const std::string& name, NodeId x, const BatchNormOptions& o) {
  const Shape in = shape(x);
  BatchNormNode bn{o.epsilon, o.momentum, o.running_variance, o.relu, kNone, kNone, 0};
  bn.gamma =
      declare({.name = named(name, "weight", "gamma"), .dims = {in.channels}, .init = Init::ones});
  bn.beta =
      declare({.name = named(name, "bias", "beta"), .dims = {in.channels}, .init = Init::zeros});
  bn.statistics_offset = graph_.statistics_count_;
  graph_.statistics_count_ += 2 * std::size_t(in.channels);
  return append(name, bn, {x}, in);
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

}  // namespace rueda
