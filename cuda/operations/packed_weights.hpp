#pragma once

#include <cstddef>
#include <map>
#include <span>

#include <cuda_runtime_api.h>

#include "cuda/device/handles.hpp"
#include "cuda/kernels/kernels.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::cuda {

/// Convolution weights as kernels read them. fp32 weights are read where they lie in the arena; for
/// bf16 there is a copy of the whole arena, tensor by tensor at the same places; weights whose
/// input channels are padded have a copy of their own.
class PackedWeights {
 public:
  /// Convolution weights `id` will be read as `element`, padded to `stored` input channels.
  void request(const Graph& graph, ParameterId id, Element element, int stored);
  /// Bytes of all that was requested.
  std::size_t bytes() const;

  /// After the last request. `values` is the parameter arena.
  void allocate(std::span<const float> values);
  /// Renews all copies.
  void pack_all(const Graph& graph, cudaStream_t stream);
  const void* at(const Graph& graph, ParameterId id) const;

 private:
  struct Padded {
    Element element = Element::fp32;
    int stored = 0;
    std::size_t rows = 0;
    int channels = 0;
    DeviceMemory memory;
    std::size_t bytes() const { return rows * std::size_t(stored) * bytes_of(element); }
  };

  std::map<ParameterId, Padded> padded_;
  std::size_t mirrored_floats_ = 0;  ///< 0: no copy of the arena
  std::size_t lead_ = 0;  ///< elements by which it begins late, as the arena does, for alignment
  DeviceMemory mirror_;
  std::span<const float> values_;
};

}  // namespace rueda::cuda
