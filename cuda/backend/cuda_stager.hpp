#pragma once

#include <memory>

#include "cuda/device/handles.hpp"
#include "rueda/backend/host_batch.hpp"

namespace rueda::cuda {

/// For the device that is current in this thread. `compute`, on which the network runs, stays the
/// caller's.
std::unique_ptr<BatchStager> make_cuda_stager(const InputFormat& format, int image_size,
                                              std::size_t batch, cudaStream_t compute);

/// What it holds on the device.
std::size_t cuda_stager_bytes(const InputFormat& format, int image_size, std::size_t batch);

}  // namespace rueda::cuda
