#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cpu/onednn.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/precision.hpp"

namespace rueda::cpu {

/// How activations lie in memory: plain (N, C, H, W), channels in blocks of 8
/// or 16 (nChw8c, nChw16c), or channels last. One layout holds for a whole
/// network, so activations are never reordered; only what follows the global
/// pooling (N, C) differs, and the image, which is plain beside blocks.
enum class ActivationLayout { channels_last = 0, blocked8 = 8, blocked16 = 16 };

struct ActivationFormat {
  ActivationLayout layout = ActivationLayout::channels_last;
  Precision precision = Precision::fp32;
};

/// What oneDNN's convolutions prefer on this processor. Where it has none in
/// bf16 (before AVX-512) throws InputError.
ActivationLayout preferred_layout(const dnnl::engine& engine, Precision precision);

/// Host memory on a 64-byte boundary. Throws OutOfMemory.
Memory host_memory(std::size_t bytes);

/// Whether it runs in oneDNN's reference loops, hundreds of times slower than its kernels.
inline bool is_reference(const dnnl::primitive_desc_base& planned) {
  return std::string_view(planned.impl_info_str()).starts_with("ref");
}

/// A primitive with its arguments, fixed once and executed many times.
struct PrimitiveCall {
  dnnl::primitive primitive{};
  std::unordered_map<int, dnnl::memory> arguments{};

  void run(dnnl::stream& stream) { primitive.execute(stream, arguments); }
};

inline PrimitiveCall reorder_call(const dnnl::memory& from, const dnnl::memory& to) {
  return {dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
}

/// A weight that our own loop packs, in tiles of 16 outputs by 16 inputs at one
/// place of the kernel.
struct TiledWeight {
  /// One of oneDNN's. In bf16 two neighbours of a tile's slower index go together.
  struct Layout {
    dnnl::memory::format_tag tag;
    bool bf16;
    bool inputs_first;  ///< the order of the tiles
    bool transposed;    ///< inside a tile the outputs lie together
  };
  struct Copy {
    std::byte* memory;
    const Layout* layout;
  };

  const float* values = nullptr;
  std::size_t rows = 0, columns = 0, places = 0;  ///< tiles, and places of the kernel
  std::vector<Copy> copies{};
};

/// The packed copies of the weights in the layouts that oneDNN's kernels ask
/// for, one per direction and layout, shared by all batch sizes that ask for
/// the same. Our own loop packs all copies of a weight at once: oneDNN's
/// reorder, which packs the other layouts, takes twice the time.
class PackedWeights {
 public:
  using Slot = std::size_t;

  Slot request(ParameterId parameter, const dnnl::memory::desc& desc);
  std::size_t bytes() const;
  void allocate(const Graph& graph, const dnnl::engine& engine, std::span<float> values);
  void pack_all(dnnl::stream& stream);
  const dnnl::memory& memory(Slot slot) const { return entries_.at(slot).packed; }

 private:
  struct Entry {
    ParameterId parameter;
    dnnl::memory::desc desc;
    dnnl::memory packed{};
  };
  std::vector<Entry> entries_;
  std::map<ParameterId, TiledWeight> tiled_;
  std::vector<PrimitiveCall> reorders_;
  Memory storage_;
};

/// What the operations of one backend share: engine, stream, format, arenas,
/// packed weights and one scratch area, which is safe because operations run
/// one after another.
struct Context {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  ActivationFormat format;
  PackedWeights packed;
  ParameterMemory parameters;
  std::size_t scratch_bytes = 0;
  Memory scratch;
  std::vector<std::string> references;  ///< "backward data of LAYER": what runs in reference loops

  /// Of a node's output. bf16 stands for the image and what convolutions, batch
  /// norms, additions and poolings make of it; from the global pooling on all
  /// is fp32.
  ActivationView view(const Graph& graph, NodeId node) const;
  /// The same for `batch` images; `plain` whatever the layout of the network.
  dnnl::memory::desc desc(const Graph& graph, NodeId node, int batch, bool plain = false) const;
  /// Plans a primitive whose scratch memory comes from us, so that none is
  /// allocated inside. `after` is what it does to its result on the way.
  template <typename Primitive, typename... Arguments>
  typename Primitive::primitive_desc plan_with(const dnnl::post_ops& after,
                                               const Arguments&... arguments) const {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attributes.set_post_ops(after);
    return {engine, arguments..., attributes};
  }
  template <typename Primitive, typename... Arguments>
  typename Primitive::primitive_desc plan(const Arguments&... arguments) const {
    return plan_with<Primitive>({}, arguments...);
  }
  void request_scratch(std::size_t bytes) { scratch_bytes = std::max(scratch_bytes, bytes); }
  /// Room for the scratchpad of `planned`, `offset` bytes into the shared scratch area.
  void request_scratch(const dnnl::primitive_desc_base& planned, std::size_t offset = 0) {
    request_scratch(offset + planned.scratchpad_desc().get_size());
  }
  /// A planned primitive will run: room for its scratchpad, and a note where
  /// oneDNN has only reference loops for it. `part`: "forward" and so on.
  void accept(const dnnl::primitive_desc_base& planned, const std::string& layer, const char* part,
              std::size_t offset = 0) {
    request_scratch(planned, offset);
    const std::string what = std::string(part) + " of " + layer;
    if (is_reference(planned) && std::ranges::count(references, what) == 0)
      references.push_back(what);
  }
  dnnl::memory at(const dnnl::memory::desc& desc, void* where) const {
    return {desc, engine, where};
  }
  /// With the scratchpad that was requested.
  template <typename Primitive>
  PrimitiveCall call(const typename Primitive::primitive_desc& desc,
                     std::unordered_map<int, dnnl::memory> arguments,
                     std::size_t offset = 0) const {
    const auto room = desc.scratchpad_desc();
    if (room.get_size() > 0)
      arguments.emplace(DNNL_ARG_SCRATCHPAD, at(room, scratch.data() + offset));
    return {Primitive(desc), std::move(arguments)};
  }
};

/// "oneDNN has only its reference loops for ..." with the remedy; empty without `references`.
std::string references_text(const std::vector<std::string>& references);

dnnl::memory::data_type type_of(bool bf16);
/// A convolution weight: logical (out, in, h, w); in the arena it lies as out, h, w, in.
dnnl::memory::desc conv_weight_desc(
    const Parameter& weight, bool bf16 = false,
    dnnl::memory::format_tag layout = dnnl::memory::format_tag::ohwi);
/// A vector of `count` floats.
dnnl::memory::desc vector_desc(std::size_t count);

}  // namespace rueda::cpu
