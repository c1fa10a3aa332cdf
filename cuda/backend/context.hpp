#pragma once

#include <cstddef>
#include <memory>
#include <source_location>
#include <string>

#include <cublas_v2.h>

#include "cuda/cudnn/cudnn_descriptor.hpp"
#include "cuda/cudnn/plan_store.hpp"
#include "cuda/device/handles.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/operations/packed_weights.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/precision.hpp"

namespace rueda::cuda {

/// Throws the RunError that belongs to a failed cuBLAS call.
[[noreturn]] void throw_cublas_error(cublasStatus_t status, const char* call,
                                     std::source_location place);

inline void check(cublasStatus_t status, const char* call,
                  std::source_location place = std::source_location::current()) {
  if (status != CUBLAS_STATUS_SUCCESS) throw_cublas_error(status, call, place);
}

using CublasHandle = Handle<cublasHandle_t, cublasDestroy>;

/// What all operations of a backend share.
struct Context {
  Precision precision = Precision::fp32;
  bool deterministic = false;
  Stream stream;
  CudnnHandle cudnn;
  CublasHandle cublas;
  std::unique_ptr<PlanStore> plans;
  PackedWeights packed;
  ParameterMemory parameters;
  std::size_t scratch_bytes = 0;  ///< the most that any operation asked for
  DeviceMemory scratch;           ///< shared: an operation's use ends with its call

  void request_scratch(std::size_t bytes) { scratch_bytes = std::max(scratch_bytes, bytes); }
  float* scratch_floats() const { return static_cast<float*>(scratch.get()); }

  Element element() const { return precision == Precision::bf16 ? Element::bf16 : Element::fp32; }
  float* value(const Graph& graph, ParameterId id) const {
    return parameters.values.data() + graph.parameter(id).offset;
  }
  float* gradient(const Graph& graph, ParameterId id) const {
    return parameters.gradients.data() + graph.parameter(id).offset;
  }
};

bool is_behind_pooling(const Node& node);
/// What a node's output is kept in: everything behind the global pooling is fp32.
Element element_of(const Node& node, const Context& context);
/// Channels in memory: those of the image are padded, so that tensor cores can read it.
int stored_channels(const Graph& graph, NodeId node, const Context& context);
/// Channels that the image is padded to: 16 bytes a pixel.
inline int image_channels(Element element) { return element == Element::bf16 ? 8 : 4; }

inline cudnnDataType_t cudnn_type(Element element) {
  return element == Element::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

}  // namespace rueda::cuda
