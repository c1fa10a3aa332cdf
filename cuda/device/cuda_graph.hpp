#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include "cuda/device/handles.hpp"

namespace rueda::cuda {

using CudaGraph = Handle<cudaGraph_t, cudaGraphDestroy>;
using CudaGraphExec = Handle<cudaGraphExec_t, cudaGraphExecDestroy>;

/// Records what `work` queues on `stream`, in place of doing it. If it throws, the recording is
/// ended and dropped first.
template <typename Work>
CudaGraph record_graph(cudaStream_t stream, const Work& work) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  cudaGraph_t raw = nullptr;
  try {
    work();
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(stream, &raw));
    const CudaGraph dropped(raw);
    throw;
  }
  check(cudaStreamEndCapture(stream, &raw), "cudaStreamEndCapture");
  return CudaGraph(raw);
}

inline CudaGraphExec instantiate(const CudaGraph& graph) {
  cudaGraphExec_t raw = nullptr;
  check(cudaGraphInstantiate(&raw, graph.get(), 0), "cudaGraphInstantiate");
  return CudaGraphExec(raw);
}

/// Kernels, clearings and copies in a graph.
inline std::size_t launches_in(const CudaGraph& graph) {
  std::size_t nodes = 0;
  check(cudaGraphGetNodes(graph.get(), nullptr, &nodes), "cudaGraphGetNodes");
  return nodes;
}

}  // namespace rueda::cuda
