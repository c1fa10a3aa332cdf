#pragma once

#include <cuda_runtime_api.h>

namespace rueda::standin {

/// Remembers an error for cudaGetLastError, as every function of the runtime does; returns `code`.
cudaError_t note(cudaError_t code);

}  // namespace rueda::standin
