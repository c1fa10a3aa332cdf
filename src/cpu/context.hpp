#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "layout.hpp"
#include "rueda/backend/backend.hpp"

namespace rueda::cpu {

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
  dnnl::memory::desc desc(const Graph& graph, NodeId node, int batch) const {
    return activation_desc(graph, node, batch, format);
  }
  dnnl::memory at(const dnnl::memory::desc& desc, void* where) const {
    return {desc, engine, where};
  }
  float* value(const Graph& graph, ParameterId id) const {
    return parameters.values.data() + graph.parameter(id).offset;
  }
  float* gradient(const Graph& graph, ParameterId id) const {
    return parameters.gradients.data() + graph.parameter(id).offset;
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
