#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "rueda/backend/backend.hpp"
#include "rueda/backend/precision.hpp"

namespace rueda::cpu {

/// How activations lie in memory: plain (N, C, H, W), channels in blocks of 8 or 16 (nChw8c,
/// nChw16c), or channels last. One layout holds for a whole network, so activations are never
/// reordered; only the image (plain) and what follows the global pooling (N, C) differ.
enum class ActivationLayout { channels_last = 0, blocked8 = 8, blocked16 = 16 };

struct ActivationFormat {
  ActivationLayout layout = ActivationLayout::channels_last;
  Precision precision = Precision::fp32;
};

/// Whether a node's output is plain whatever the layout: the image, and what follows the global
/// pooling.
bool is_plain(const Node& node);

/// What oneDNN's convolutions prefer on this processor. Where it has none in bf16 (before AVX-512)
/// throws InputError.
ActivationLayout preferred_layout(const dnnl::engine& engine, Precision precision);

/// The type of a node's output: bf16 stands for the image and what convolutions, batch norms,
/// additions and poolings make of it; from the global pooling on all is fp32.
dnnl::memory::data_type element_type(const Node& node, Precision precision);

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

/// Block of host memory on a 64-byte boundary, zeroed.
class HostMemory final : public Memory {
 public:
  explicit HostMemory(std::size_t bytes);
  std::byte* data() override { return data_.get(); }
  std::size_t size() const override { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept;
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_;
};

/// The packed copies of the weights in the layouts that oneDNN's kernels ask for, one per direction
/// and layout, shared by all batch sizes that ask for the same.
class PackedWeights {
 public:
  using Slot = std::size_t;

  Slot request(ParameterId parameter, const dnnl::memory::desc& desc);
  std::size_t bytes() const;
  void allocate(const Graph& graph, const dnnl::engine& engine, std::span<float> values);
  void pack_all(const dnnl::stream& stream);
  const dnnl::memory& memory(Slot slot) const { return entries_.at(slot).packed; }

 private:
  struct Entry {
    ParameterId parameter;
    dnnl::memory::desc desc;
    dnnl::memory plain;  ///< the slice of the arena
    dnnl::memory packed;
    dnnl::reorder reorder;
  };
  std::vector<Entry> entries_;
  std::unique_ptr<HostMemory> storage_;
};

/// A primitive with its arguments, fixed once and executed many times.
struct PrimitiveCall {
  dnnl::primitive primitive{};
  std::unordered_map<int, dnnl::memory> arguments{};

  void run(dnnl::stream& stream) { primitive.execute(stream, arguments); }
};

inline PrimitiveCall reorder_call(const dnnl::memory& from, const dnnl::memory& to) {
  return {dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
}

/// What the operations of one backend share: engine, stream, format, arenas, packed weights and one
/// scratch area, which is safe because operations run one after another.
struct Context {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  ActivationFormat format;
  PackedWeights packed;
  ParameterMemory parameters;
  std::size_t scratch_bytes = 0;
  std::unique_ptr<HostMemory> scratch;

  void request_scratch(std::size_t bytes) { scratch_bytes = std::max(scratch_bytes, bytes); }
  /// Of a node's output for `batch` images.
  dnnl::memory::desc desc(const Graph& graph, NodeId node, int batch) const;
  dnnl::memory at(const dnnl::memory::desc& desc, void* where) const {
    return {desc, engine, where};
  }
  /// With the scratchpad that `desc` asks for, `offset` bytes into the shared scratch area.
  template <typename Primitive>
  PrimitiveCall call(const typename Primitive::primitive_desc& desc,
                     std::unordered_map<int, dnnl::memory> arguments,
                     std::size_t offset = 0) const {
    const auto room = desc.scratchpad_desc();
    if (room.get_size() > 0)
      arguments.emplace(DNNL_ARG_SCRATCHPAD, at(room, scratch->data() + offset));
    return {Primitive(desc), std::move(arguments)};
  }
};

/// Attributes every primitive is made with: scratch memory comes from us, none is allocated inside.
inline dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// A convolution weight in the arena: logical (out, in, h, w), lying as out, h, w, in.
dnnl::memory::desc arena_conv_desc(const Parameter& weight);
/// A vector of `count` floats.
dnnl::memory::desc vector_desc(std::size_t count);

}  // namespace rueda::cpu
