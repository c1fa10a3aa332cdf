#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace rueda {

/// Extents of one image's activation. Batch and memory layout are the backend's business.
struct Shape {
  int channels = 0;
  int height = 1;
  int width = 1;
  std::size_t elements() const noexcept {
    return std::size_t(channels) * std::size_t(height) * std::size_t(width);
  }
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// How a parameter begins. `fan_in` = inputs of one output unit, `fan_out` = outputs per input.
enum class Init {
  zeros,
  ones,
  he_normal,       ///< N(0, 2/fan_in): He et al., ICCV 2015
  fan_in_uniform,  ///< U(+-1/sqrt(fan_in)): the default of PyTorch's Conv2d and Linear
  glorot_uniform,  ///< U(+-sqrt(6/(fan_in+fan_out))): Glorot and Bengio, AISTATS 2010
};

/// The framework in which a network was first written down: its names for
/// tensors are ours, and its layouts are those of weight files.
enum class Origin { pytorch, keras };

/// A trainable tensor. In the arena it is plain and unpadded fp32: convolutions
/// lie as (out, height, width, in), dense weights as (out, in), vectors as they
/// are.
struct Parameter {
  std::string name;
  std::vector<int> dims;
  std::size_t count = 0;
  std::size_t offset = 0;  ///< in floats, in the parameter and in the gradient arena alike
  Init init = Init::zeros;
  int fan_in = 1;
  int fan_out = 1;
};

using NodeId = int;
/// Of a node, in a vector with one element for each node.
inline std::size_t index(NodeId node) { return std::size_t(node); }
using ParameterId = int;
inline constexpr ParameterId kNone = -1;

struct InputNode {};

/// 2-D convolution (cross-correlation), square kernel, symmetric zero padding.
struct ConvNode {
  int filters = 0;
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  ParameterId weight = kNone;
  ParameterId bias = kNone;
};

/// What goes into the running variance: the batch's own (divide by m) or Bessel-corrected (m-1).
enum class RunningVariance { biased, unbiased };

/// Batch normalisation over (batch, height, width), with a ReLU after it if `relu`.
struct BatchNormNode {
  float epsilon = 1e-5F;
  RunningVariance running_variance = RunningVariance::unbiased;
  bool relu = false;
  ParameterId gamma = kNone;
  ParameterId beta = kNone;
  /// Mean then variance, 2 * channels floats, at this offset of every statistics arena.
  std::size_t statistics_offset = 0;
};

/// Sum of two equal shapes, with a ReLU after it if `relu`.
struct AddNode {
  bool relu = false;
};

/// What stands in the padding of a max pooling: nothing, so that it never wins,
/// or zeros, which win against negative values (Keras' networks pad with an
/// explicit layer of zeros).
enum class PoolPadding { none, zeros };

/// Max pooling over square windows; of equal values the first in rows and columns wins.
struct MaxPoolNode {
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  PoolPadding filled_with = PoolPadding::none;
};

/// He's parameter-free shortcut ("option A"): every `stride`-th pixel, and zero
/// channels added evenly before and after the input's.
struct PadShortcutNode {
  int stride = 1;
};

struct GlobalAveragePoolNode {};

/// Fully connected layer.
struct DenseNode {
  int units = 0;
  ParameterId weight = kNone;
  ParameterId bias = kNone;
};

using NodeKind = std::variant<InputNode, ConvNode, BatchNormNode, AddNode, MaxPoolNode,
                              PadShortcutNode, GlobalAveragePoolNode, DenseNode>;

/// Calls `f` with the number of every parameter that a node of this kind owns,
/// weight or gamma first.
template <typename Kind, typename F>
void for_each_parameter(Kind& kind, const F& f) {
  std::visit(
      [&f](auto& k) {
        if constexpr (requires { k.weight; }) {
          if (k.weight != kNone) f(k.weight);
          if (k.bias != kNone) f(k.bias);
        } else if constexpr (requires { k.gamma; }) {
          f(k.gamma);
          f(k.beta);
        }
      },
      kind);
}

struct Node {
  std::string name;
  NodeKind kind;
  std::vector<NodeId> inputs;
  Shape output;
};

/// What follows a global average pool is a matrix.
inline bool after_pooling(const Node& node) {
  return std::holds_alternative<GlobalAveragePoolNode>(node.kind) ||
         std::holds_alternative<DenseNode>(node.kind);
}

struct FusionRules;  // model/fusion.hpp

/// A network: nodes in forward order (inputs come before their users),
/// parameters by name. It has no memory and no device; counts, FLOPs and
/// offsets are known before anything is allocated. Parameters are numbered, and
/// lie in the arenas, in the order in which backward finishes their gradients
/// (last layer first), so that a bucket is a slice.
class Graph {
 public:
  const std::string& name() const noexcept { return name_; }
  Origin origin() const noexcept { return origin_; }
  const std::vector<Node>& nodes() const noexcept { return nodes_; }
  const Node& node(NodeId id) const { return nodes_.at(std::size_t(id)); }
  Shape shape(NodeId id) const { return node(id).output; }
  NodeId input() const noexcept { return 0; }
  NodeId logits() const noexcept { return static_cast<NodeId>(nodes_.size()) - 1; }
  int classes() const { return shape(logits()).channels; }
  /// The nodes that read what `id` puts out, in order; one that reads it twice is there twice.
  std::vector<NodeId> readers(NodeId id) const;

  const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  const Parameter& parameter(ParameterId id) const { return parameters_.at(std::size_t(id)); }
  /// Floats of the parameter arena = trainable parameters.
  std::size_t parameter_count() const noexcept { return parameter_count_; }
  /// Floats of batch-norm running means and variances = non-trainable parameters.
  std::size_t statistics_count() const noexcept { return statistics_count_; }
  /// The share of these that a step keeps, as the origin has it: running =
  /// momentum * running + (1 - momentum) * batch statistic.
  float running_momentum() const noexcept { return origin_ == Origin::keras ? 0.99F : 0.9F; }

 private:
  friend class GraphBuilder;
  friend Graph fuse_additions(const Graph& graph, const FusionRules& rules);
  std::string name_;
  Origin origin_ = Origin::pytorch;
  std::vector<Node> nodes_;
  std::vector<Parameter> parameters_;
  std::size_t parameter_count_ = 0;
  std::size_t statistics_count_ = 0;
};

}  // namespace rueda
