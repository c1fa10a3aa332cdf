#include "cpu/context.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/mman.h>

#include "backend/memory_plan.hpp"
#include "base/error.hpp"
#include "base/split.hpp"

namespace rueda::cpu {
namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21U;
constexpr std::size_t kWorthHugePages = 8 * kHugePage;

using dnnl::memory;
using tag = memory::format_tag;

tag format_tag(ActivationLayout layout) {
  if (layout == ActivationLayout::channels_last) return tag::nhwc;
  if (layout == ActivationLayout::blocked8) return tag::nChw8c;
  return tag::nChw16c;
}

const memory::dims kTypicalImages = {16, 64, 16, 16};

dnnl::convolution_forward::primitive_desc typical_convolution(const dnnl::engine& engine,
                                                              memory::data_type type) try {
  const memory::desc images(kTypicalImages, type, tag::any);
  const memory::desc weights({64, 64, 3, 3}, type, tag::any);
  const memory::dims one = {1, 1};
  return {engine,
          dnnl::prop_kind::forward_training,
          dnnl::algorithm::convolution_direct,
          images,
          weights,
          images,
          one,
          one,
          one,
          dnnl::primitive_attr()};
} catch (const dnnl::error& error) {
  if (error.status != dnnl_unimplemented) throw;
  throw InputError(
      "--precision bf16: oneDNN computes in bf16 only on processors with AVX-512, and this one has "
      "none; use --precision fp32");
}

}  // namespace

memory::data_type type_of(bool bf16) {
  if (bf16) return memory::data_type::bf16;
  return memory::data_type::f32;
}

/// The first convolution takes a plain image beside blocks, and one with channels
/// last beside channels last: oneDNN has no AMX kernel for a plain one.
static bool is_plain(const Node& node, ActivationLayout layout) {
  const bool image = std::holds_alternative<InputNode>(node.kind);
  return after_pooling(node) || (image && layout != ActivationLayout::channels_last);
}

ActivationLayout preferred_layout(const dnnl::engine& engine, Precision precision) {
  const auto type = type_of(precision == Precision::bf16);
  const memory::desc images = typical_convolution(engine, type).src_desc();
  for (const auto layout : {ActivationLayout::blocked8, ActivationLayout::blocked16})
    if (images == memory::desc(kTypicalImages, type, format_tag(layout))) return layout;
  return ActivationLayout::channels_last;
}

memory::desc Context::desc(const Graph& graph, NodeId node, int batch, bool plain) const {
  const Node& n = graph.node(node);
  const memory::dims dims = {batch, n.output.channels, n.output.height, n.output.width};
  return {dims, type_of(view(graph, node).bf16),
          plain || is_plain(n, format.layout) ? tag::nchw : format_tag(format.layout)};
}

ActivationView Context::view(const Graph& graph, NodeId node) const {
  const Node& n = graph.node(node);
  const auto channels = std::size_t(n.output.channels);
  auto block = std::size_t(format.layout);
  if (format.layout == ActivationLayout::channels_last) block = channels;
  if (is_plain(n, format.layout)) block = 1;
  return {.channels = pieces(channels, block) * block,
          .pixels = std::size_t(n.output.height * n.output.width),
          .block = block,
          .bf16 = format.precision == Precision::bf16 && !after_pooling(n)};
}

std::string references_text(const std::vector<std::string>& references) {
  if (references.empty()) return "";
  std::string text =
      "oneDNN has only its reference loops, often hundreds of times slower, for the " +
      references.front();
  if (references.size() > 1)
    text += " and " + std::to_string(references.size() - 1) + " other passes of layers";
  return text +
         ": compute on a processor with AVX2 or more, and unset ONEDNN_MAX_CPU_ISA where it is set";
}

Memory host_memory(std::size_t bytes) {
  const std::size_t alignment = bytes >= kWorthHugePages ? kHugePage : kBufferAlignment;
  const std::size_t room = std::max(aligned_bytes(bytes), kBufferAlignment);
  void* p = nullptr;
  if (posix_memalign(&p, alignment, room) != 0) {
    throw OutOfMemory(
        "out of memory: " + std::to_string(room) +
        " bytes in one piece were not to be had; lower --batch-per-rank or --image-size");
  }
  // A wish, before the first touch: where it is granted, training is some per cent faster.
  if (alignment == kHugePage) madvise(p, room / kHugePage * kHugePage, MADV_HUGEPAGE);
  std::memset(p, 0, room);
  return {p, bytes, std::free};
}

memory::desc conv_weight_desc(const Parameter& w, bool bf16, tag layout) {
  return {{w.dims[0], w.dims[3], w.dims[1], w.dims[2]}, type_of(bf16), layout};
}

dnnl::memory::desc vector_desc(std::size_t count) {
  return {{static_cast<dnnl::memory::dim>(count)},
          dnnl::memory::data_type::f32,
          dnnl::memory::format_tag::x};
}

}  // namespace rueda::cpu
