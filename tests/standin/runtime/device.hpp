#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

namespace rueda::standin {

/// Remembers an error for cudaGetLastError, as every function of the runtime does; returns `code`.
cudaError_t note(cudaError_t code);

/// Devices that this process sees: RUEDA_STANDIN_DEVICES (1), less those that CUDA_VISIBLE_DEVICES
/// leaves out.
int device_count();

/// The device that cudaSetDevice chose in this thread.
int current_device();

/// Memory of each device: RUEDA_STANDIN_MEMORY bytes (8 GiB).
std::size_t device_bytes();

}  // namespace rueda::standin
