#pragma once

#include "cudnn_descriptor.hpp"
#include "cudnn_plan.hpp"

namespace rueda::cuda {

/// Seconds of one execution of `plan`, which was made for `graph`, on memory of its own: the median
/// of several after a warm-up.
double time_plan(cudnnHandle_t cudnn, cudaStream_t stream, const CudnnPlan& plan,
                 const CudnnGraph& graph);

}  // namespace rueda::cuda
