#pragma once

#include <cuda_runtime_api.h>
#include <cudnn_graph.h>

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
