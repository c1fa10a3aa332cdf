#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "rueda/model/graph.hpp"

namespace rueda {

/// One tensor as the framework that a network comes from names and shapes it:
/// PyTorch's convolutions are (out, in, height, width) and its dense weights
/// (out, in), Keras' are (height, width, in, out) and (in, out). Lies in a
/// parameter arena if `trainable`, else (running means and variances) in a
/// statistics arena.
struct OriginTensor {
  std::string name;
  std::vector<std::size_t> shape{};
  bool trainable = true;
  std::size_t offset = 0;              ///< of the first element in its arena, in floats
  std::vector<std::size_t> strides{};  ///< from element to element along each axis of `shape`

  std::size_t elements() const noexcept;
};

/// All tensors of a network in forward order, module by module; the shortcut of
/// a residual block in PyTorch's names comes last in its block, as modules are
/// listed there. Every float of both arenas belongs to exactly one of them.
std::vector<OriginTensor> origin_tensors(const Graph& graph);

/// Copies one tensor out of its arena, in the origin's order of elements. `out`
/// has `tensor.elements()` floats; the arena that the tensor does not lie in
/// may be empty.
void to_origin(const OriginTensor& tensor, std::span<const float> parameters,
               std::span<const float> statistics, std::span<float> out);

/// The reverse: `in` has `tensor.elements()` floats in the origin's order.
void from_origin(const OriginTensor& tensor, std::span<const float> in, std::span<float> parameters,
                 std::span<float> statistics);

}  // namespace rueda
