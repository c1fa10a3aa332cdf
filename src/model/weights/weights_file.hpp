#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "rueda/model/graph.hpp"

namespace rueda {

// Weight files: safetensors with the names and layouts of the network's origin;
// docs/checkpoints.md. Without `statistics` a file has the trainable tensors alone, for one value
// per parameter, such as an optimizer's velocities.

/// Fills both arenas (host memory) from a file that has exactly the tensors of
/// the network, as F32, finite, and no variance below 0; PyTorch's num_batches_tracked are ignored.
/// A prefix of names, such as "module." of PyTorch's DistributedDataParallel, is
/// taken off if the rest fits; returns it. Throws
/// InputError naming the tensor that is missing, too many, of another shape or
/// dtype, or holds such a value; the arenas may then be filled in part.
std::string load_weights(const Graph& graph, const std::filesystem::path& path,
                         std::span<float> parameters, std::span<float> statistics);

/// Writes both arenas (host memory). `steps` optimizer steps led to them:
/// PyTorch's num_batches_tracked. Throws RunError if the file cannot be
/// written.
void save_weights(const Graph& graph, const std::filesystem::path& path,
                  std::span<const float> parameters, std::span<const float> statistics,
                  std::uint64_t steps);

}  // namespace rueda
