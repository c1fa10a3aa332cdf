#pragma once

#include <source_location>

#include <cuda_runtime_api.h>

// For host files only: some nvcc releases reject a defaulted source_location.

namespace rueda::cuda {

/// Throws the RunError that belongs to a failed CUDA call, OutOfMemory for a failed allocation: its
/// name, what CUDA says about `code`, and the file and line of the call.
[[noreturn]] void throw_cuda_error(cudaError_t code, const char* call, std::source_location place);

/// Every return code of CUDA and of the launchers goes through here:
/// `check(cudaStreamSynchronize(stream), "cudaStreamSynchronize")`.
inline void check(cudaError_t code, const char* call,
                  std::source_location place = std::source_location::current()) {
  if (code != cudaSuccess) throw_cuda_error(code, call, place);
}

}  // namespace rueda::cuda
