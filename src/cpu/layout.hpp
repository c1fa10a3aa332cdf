#pragma once

#include <cstddef>

#include <oneapi/dnnl/dnnl.hpp>

#include "rueda/backend/precision.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::cpu {

/// How activations lie in memory: plain (N, C, H, W), channels in blocks of 8 or 16 (nChw8c,
/// nChw16c), or channels last. One layout holds for a whole network, so activations are never
/// reordered; only the image (plain) and what follows the global pooling (N, C) differ.
enum class ActivationLayout { blocked8, blocked16, channels_last };

struct ActivationFormat {
  ActivationLayout layout = ActivationLayout::channels_last;
  Precision precision = Precision::fp32;
};

/// Whether a node's output is plain whatever the layout: the image, and what follows the global
/// pooling.
bool is_plain(const Node& node);

dnnl::memory::format_tag format_tag(ActivationLayout layout);

/// What oneDNN's convolutions prefer on this processor. Where it has none in bf16 (before AVX-512)
/// throws InputError.
ActivationLayout preferred_layout(const dnnl::engine& engine, Precision precision);

/// The type of a node's output: bf16 stands for the image and what convolutions, batch norms,
/// additions and poolings make of it; from the global pooling on all is fp32.
dnnl::memory::data_type element_type(const Node& node, Precision precision);

/// The oneDNN description of a node's output for `batch` images.
dnnl::memory::desc activation_desc(const Graph& graph, NodeId node, int batch,
                                   ActivationFormat format);

/// Index arithmetic that serves every layout: channels come in blocks of `block` (channels last:
/// one block of all of them; plain: blocks of one), pixels in between. `channels` is padded to
/// whole blocks.
struct BlockedView {
  std::size_t channels = 0;
  std::size_t pixels = 0;
  std::size_t block = 1;

  std::size_t blocks() const noexcept { return channels / block; }
  std::size_t image_elements() const noexcept { return channels * pixels; }
  std::size_t offset(std::size_t image, std::size_t channel, std::size_t pixel) const noexcept {
    return ((image * blocks() + channel / block) * pixels + pixel) * block + channel % block;
  }
};

BlockedView blocked_view(const Graph& graph, NodeId node, ActivationLayout layout);

}  // namespace rueda::cpu
