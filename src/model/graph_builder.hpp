#pragma once

#include <string>
#include <vector>

#include "rueda/model/graph.hpp"

namespace rueda {

struct ConvOptions {
  int filters = 0;
  int kernel = 3;
  int stride = 1;
  int padding = 1;
  bool bias = false;
  Init weight_init = Init::he_normal;
  Init bias_init = Init::zeros;
};

struct DenseOptions {
  int units = 0;
  Init weight_init = Init::fan_in_uniform;
  Init bias_init = Init::zeros;
};

/// Writes a Graph down, layer by layer, in forward order; each call returns the
/// new node. Parameter names are those of the origin: `<layer>.weight` and
/// `<layer>.bias` (batch norm: gamma is the weight), or `<layer>/kernel`,
/// `<layer>/bias`, `<layer>/gamma` and `<layer>/beta`. Impossible shapes throw
/// InputError naming the layer.
class GraphBuilder {
 public:
  GraphBuilder(std::string name, Shape input, Origin origin = Origin::pytorch);

  NodeId input() const noexcept { return 0; }
  NodeId conv(const std::string& name, NodeId x, const ConvOptions& options);
  /// `norm` without its parameters and statistics.
  NodeId batch_norm(const std::string& name, NodeId x, BatchNormNode norm);
  NodeId add(const std::string& name, NodeId a, NodeId b, bool relu);
  NodeId max_pool(const std::string& name, NodeId x, const MaxPoolNode& options);
  NodeId pad_shortcut(const std::string& name, NodeId x, int channels, int stride);
  NodeId global_average_pool(const std::string& name, NodeId x);
  NodeId dense(const std::string& name, NodeId x, const DenseOptions& options);
  Shape shape(NodeId id) const { return graph_.shape(id); }

  /// Numbers the parameters in backward order and hands the graph over. The
  /// last node is the logits.
  Graph finish() &&;

 private:
  NodeId append(const std::string& name, NodeKind kind, std::vector<NodeId> inputs, Shape output);
  ParameterId declare(Parameter parameter);
  /// Of the layer's bias, with the fans of its weight.
  ParameterId declare_bias(const std::string& layer, int units, Init init, ParameterId weight);
  std::string named(const std::string& layer, const char* pytorch, const char* keras) const;

  Graph graph_;
};

}  // namespace rueda
