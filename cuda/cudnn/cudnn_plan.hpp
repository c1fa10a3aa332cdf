#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cudnn_descriptor.hpp"
#include "cudnn_graph.hpp"

namespace rueda::cuda {

/// What an engine may do.
struct PlanLimits {
  bool tensor_cores = true;    ///< TF32 for fp32 data; bf16 data uses them in any case
  bool deterministic = false;  ///< same input, same bits
  std::size_t most = 8;        ///< plans at most
};

/// One way to execute an operation graph: an engine with its knobs, compiled.
struct CudnnPlan {
  Descriptor plan;
  Descriptor config;   ///< what the plan was made from; kept, for it may refer to it
  std::string engine;  ///< stable within one cuDNN version: "eng12{k1=2,k27=0}"
  std::size_t workspace_bytes = 0;
};

/// Plans for `graph`, those that cuDNN's heuristics think fastest first; empty if no engine within
/// the limits supports it. `only`, if not empty, names the one engine that is wanted.
std::vector<CudnnPlan> make_plans(const CudnnTarget& target, const Descriptor& graph,
                                  const PlanLimits& limits, const std::string& only = "");

/// A plan's tensors and workspace, fixed once.
Descriptor bind_tensors(const std::vector<std::pair<CudnnGraph::Tensor, void*>>& tensors,
                        void* workspace);

/// Seconds of one execution of `plan`, which was made for `graph`, on memory of its own: the median
/// of several after a warm-up.
double time_plan(cudnnHandle_t cudnn, cudaStream_t stream, const CudnnPlan& plan,
                 const CudnnGraph& graph);

}  // namespace rueda::cuda
