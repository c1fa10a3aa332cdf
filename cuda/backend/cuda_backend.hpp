#pragma once

#include <memory>
#include <string>

#include "cuda/cudnn/cudnn_plan.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/precision.hpp"

namespace rueda::cuda {

struct CudaOptions {
  Precision precision = Precision::fp32;
  bool deterministic = false;  ///< only engines that give the same bits every time
  bool tune = false;           ///< times engines for what `use_engines` does not name
  std::string plan_cache;      ///< folder in which compiled plans are kept; empty: none
};

/// A backend on cuDNN, cuBLAS and own kernels, for the device that is current
/// in the calling thread. Work is queued on the compute stream, weight gradients
/// beside it; what returns numbers waits for it. Activations lie with their channels innermost.
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options);

/// The store of a CUDA backend's engines; null for other backends.
PlanStore* plan_store(const Backend& backend);

}  // namespace rueda::cuda
