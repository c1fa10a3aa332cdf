#pragma once

#include <source_location>

#include <cublas_v2.h>

#include "handles.hpp"

namespace rueda::cuda {

/// Throws the RunError that belongs to a failed cuBLAS call.
[[noreturn]] void throw_cublas_error(cublasStatus_t status, const char* call,
                                     std::source_location place);

inline void check(cublasStatus_t status, const char* call,
                  std::source_location place = std::source_location::current()) {
  if (status != CUBLAS_STATUS_SUCCESS) throw_cublas_error(status, call, place);
}

using CublasHandle = Handle<cublasHandle_t, cublasDestroy>;

}  // namespace rueda::cuda
