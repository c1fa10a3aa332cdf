#include "origin_tensors.hpp"

#include <functional>
#include <numeric>
#include <utility>

namespace rueda {
namespace {

/// The arena's axes in the origin's order, by the number of axes: 4 of a convolution (out, height,
/// width, in), 2 of a dense weight (out, in), 1 of a vector.
std::vector<std::size_t> axes_of(std::size_t rank, Origin origin) {
  const bool keras = origin == Origin::keras;
  if (rank == 4) {
    return keras ? std::vector<std::size_t>{1, 2, 3, 0} : std::vector<std::size_t>{0, 3, 1, 2};
  }
  if (rank == 2 && keras) return {1, 0};
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return axes;
}

std::vector<std::size_t> packed_strides(const std::vector<int>& dims) {
  std::vector<std::size_t> strides(dims.size());
  std::size_t stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::size_t(dims[axis]);
  }
  return strides;
}

OriginTensor parameter_tensor(const Parameter& parameter, Origin origin) {
  OriginTensor tensor{.name = parameter.name,
                      .shape = {},
                      .trainable = true,
                      .offset = parameter.offset,
                      .strides = {}};
  const auto strides = packed_strides(parameter.dims);
  for (const std::size_t axis : axes_of(parameter.dims.size(), origin)) {
    tensor.shape.push_back(std::size_t(parameter.dims[axis]));
    tensor.strides.push_back(strides[axis]);
  }
  return tensor;
}

/// Appends the tensors of one node.
void append(const Graph& graph, const Node& node, std::vector<OriginTensor>& tensors) {
  for_each_parameter(node.kind, [&](ParameterId id) {
    tensors.push_back(parameter_tensor(graph.parameter(id), graph.origin()));
  });
  const auto* norm = std::get_if<BatchNormNode>(&node.kind);
  if (norm == nullptr) return;
  const bool keras = graph.origin() == Origin::keras;
  const auto channels = std::size_t(node.output.channels);
  tensors.push_back({node.name + (keras ? "/moving_mean" : ".running_mean"),
                     {channels},
                     false,
                     norm->statistics_offset,
                     {1}});
  tensors.push_back({node.name + (keras ? "/moving_variance" : ".running_var"),
                     {channels},
                     false,
                     norm->statistics_offset + channels,
                     {1}});
}

/// Calls `f(i, place)` for every element in the origin's order; `place` is where it lies in its
/// arena.
template <typename F>
void for_each_element(const OriginTensor& tensor, F f) {
  const std::size_t count = tensor.elements();
  std::vector<std::size_t> index(tensor.shape.size(), 0);
  std::size_t place = tensor.offset;
  for (std::size_t i = 0; i < count; ++i) {
    f(i, place);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      place += tensor.strides[axis];
      if (++index[axis] < tensor.shape[axis]) break;
      place -= tensor.shape[axis] * tensor.strides[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

std::size_t OriginTensor::elements() const noexcept {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

std::vector<OriginTensor> origin_tensors(const Graph& graph) {
  std::vector<OriginTensor> tensors;
  std::vector<const Node*> shortcut;  // written down first in the graph, listed last by PyTorch
  for (const Node& node : graph.nodes()) {
    if (node.name.find(".shortcut.") != std::string::npos) {
      shortcut.push_back(&node);
      continue;
    }
    append(graph, node, tensors);
    if (!std::holds_alternative<AddNode>(node.kind)) continue;
    for (const Node* held : std::exchange(shortcut, {})) append(graph, *held, tensors);
  }
  return tensors;
}

void to_origin(const OriginTensor& tensor, std::span<const float> parameters,
               std::span<const float> statistics, std::span<float> out) {
  const auto arena = tensor.trainable ? parameters : statistics;
  for_each_element(tensor, [&](std::size_t i, std::size_t place) { out[i] = arena[place]; });
}

void from_origin(const OriginTensor& tensor, std::span<const float> in, std::span<float> parameters,
                 std::span<float> statistics) {
  const auto arena = tensor.trainable ? parameters : statistics;
  for_each_element(tensor, [&](std::size_t i, std::size_t place) { arena[place] = in[i]; });
}

}  // namespace rueda
