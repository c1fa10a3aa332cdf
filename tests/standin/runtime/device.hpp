#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

namespace rueda::standin {

/// The environment variable `name` as a whole number; `otherwise` where it is not set or is none.
std::size_t setting(const char* name, std::size_t otherwise);

/// Whether RUEDA_STANDIN_DELAY_US asks for delays. Then graphs, too, replay their nodes in another
/// order than that of the capture, as far as the captured dependencies allow.
bool has_delays();

/// Every item of work begins with it: waits from half of RUEDA_STANDIN_DELAY_US to one and a half,
/// the same for the same RUEDA_STANDIN_SEED and item.
void before_item();

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
