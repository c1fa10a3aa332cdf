#pragma once

#include <cstddef>
#include <functional>

#include "rueda/backend/backend.hpp"
#include "rueda/backend/memory_need.hpp"
#include "rueda/backend/precision.hpp"
#include "rueda/model/graph.hpp"

namespace rueda {

/// The memory of training: the replica's own with velocities added, partial sums over
/// `micro_batches`, `message_floats` of the all-reduce's receive buffer, and `image_bytes` of
/// resident images.
MemoryNeed training_memory(MemoryNeed replica, const Graph& graph, std::size_t micro_batches,
                           std::size_t message_floats, std::size_t image_bytes = 0);

/// What a plain training run of one of `ranks` ranks holds on the device, planned anew on a backend
/// of which nothing is in use: `batch` images to train on and the same to evaluate, all of CIFAR-10
/// where images are resident, gradients summed by the ring.
MemoryNeed usual_training_memory(const Graph& graph, Backend& backend, std::size_t batch, int ranks,
                                 Recompute recompute = Recompute::none);

/// The largest batch whose need is at most `bytes`, 0 if not even 1 fits, at most `most`. `need`
/// grows with the batch, nearly linearly: that makes the search short.
std::size_t largest_batch(std::size_t bytes, std::size_t most,
                          const std::function<MemoryNeed(std::size_t batch)>& need);

}  // namespace rueda
