#include "layout.hpp"

#include "rueda/core/error.hpp"

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

memory::data_type type_of(Precision precision) {
  return precision == Precision::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

dnnl::convolution_forward::primitive_desc typical_convolution(const dnnl::engine& engine,
                                                              memory::data_type type) try {
  const memory::desc image({16, 64, 16, 16}, type, tag::any);
  const memory::desc weights({64, 64, 3, 3}, type, tag::any);
  return {{dnnl::prop_kind::forward_training,
           dnnl::algorithm::convolution_direct,
           image,
           weights,
           image,
           {1, 1},
           {1, 1},
           {1, 1}},
          engine};
} catch (const dnnl::error& error) {
  if (error.status != dnnl_unimplemented) throw;
  throw InputError(
      "--precision bf16: oneDNN computes in bf16 only on processors with AVX-512, and this one has "
      "none; use --precision fp32");
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

ActivationLayout preferred_layout(const dnnl::engine& engine, Precision precision) {
  const auto conv = typical_convolution(engine, type_of(precision));
  const memory::desc image = conv.src_desc();
  for (const auto layout : {ActivationLayout::blocked8, ActivationLayout::blocked16}) {
    if (image == memory::desc(image.dims(), image.data_type(), format_tag(layout))) {
      return layout;
    }
  }
  return ActivationLayout::channels_last;
}

memory::data_type element_type(const Node& node, Precision precision) {
  const bool image = std::holds_alternative<InputNode>(node.kind);
  return is_plain(node) && !image ? memory::data_type::f32 : type_of(precision);
}

memory::desc activation_desc(const Graph& graph, NodeId node, int batch, ActivationFormat format) {
  const Node& n = graph.node(node);
  const memory::dims dims = {batch, n.output.channels, n.output.height, n.output.width};
  return {dims, element_type(n, format.precision),
          is_plain(n) ? tag::nchw : format_tag(format.layout)};
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
