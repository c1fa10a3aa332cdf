#include "layout.hpp"

namespace rueda::cpu {
namespace {

using dnnl::memory;
using tag = memory::format_tag;

std::size_t block_of(const Node& node, ActivationLayout layout) {
  if (is_plain(node)) return 1;
  switch (layout) {
    case ActivationLayout::blocked8:
      return 8;
    case ActivationLayout::blocked16:
      return 16;
    case ActivationLayout::channels_last:
      return static_cast<std::size_t>(node.output.channels);
  }
  return 1;
}

}  // namespace

bool is_plain(const Node& node) {
  return std::holds_alternative<InputNode>(node.kind) ||
         std::holds_alternative<GlobalAveragePoolNode>(node.kind) ||
         std::holds_alternative<DenseNode>(node.kind);
}

tag format_tag(ActivationLayout layout) {
  switch (layout) {
    case ActivationLayout::blocked8:
      return tag::nChw8c;
    case ActivationLayout::blocked16:
      return tag::nChw16c;
    case ActivationLayout::channels_last:
      return tag::nhwc;
  }
  return tag::nchw;
}

ActivationLayout preferred_layout(const dnnl::engine& engine) {
  const memory::desc image({16, 64, 16, 16}, memory::data_type::f32, tag::any);
  const memory::desc weights({64, 64, 3, 3}, memory::data_type::f32, tag::any);
  const dnnl::convolution_forward::primitive_desc conv({dnnl::prop_kind::forward_training,
                                                        dnnl::algorithm::convolution_direct,
                                                        image,
                                                        weights,
                                                        image,
                                                        {1, 1},
                                                        {1, 1},
                                                        {1, 1}},
                                                       engine);
  for (const auto layout : {ActivationLayout::blocked8, ActivationLayout::blocked16}) {
    if (conv.src_desc() == memory::desc(image.dims(), image.data_type(), format_tag(layout))) {
      return layout;
    }
  }
  return ActivationLayout::channels_last;
}

memory::desc activation_desc(const Graph& graph, NodeId node, int batch, ActivationLayout layout) {
  const Node& n = graph.node(node);
  const memory::dims dims = {batch, n.output.channels, n.output.height, n.output.width};
  return {dims, memory::data_type::f32, is_plain(n) ? tag::nchw : format_tag(layout)};
}

BlockedView blocked_view(const Graph& graph, NodeId node, ActivationLayout layout) {
  const Node& n = graph.node(node);
  const std::size_t block = block_of(n, layout);
  const auto channels = static_cast<std::size_t>(n.output.channels);
  return {.channels = (channels + block - 1) / block * block,
          .pixels = static_cast<std::size_t>(n.output.height * n.output.width),
          .block = block};
}

}  // namespace rueda::cpu
