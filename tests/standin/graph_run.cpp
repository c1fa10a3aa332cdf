#include "graph_run.hpp"

#include <stdexcept>
#include <utility>

#include "cuda/device/handles.hpp"

namespace rueda::test {

void check(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char message[1000];
  cudnnGetLastErrorString(message, sizeof message);
  throw std::runtime_error(std::string(cudnnGetErrorString(status)) + ": " + message);
}

Desc::Desc(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t raw = nullptr;
  check(cudnnBackendCreateDescriptor(type, &raw));
  raw_ = std::shared_ptr<void>(raw, cudnnBackendDestroyDescriptor);
}

Desc& Desc::set(cudnnBackendAttributeName_t name, const std::vector<Desc>& children) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Desc& child : children) raw.push_back(child.get());
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw);
}

Desc& Desc::finish() {
  check(cudnnBackendFinalize(get()));
  return *this;
}

std::vector<std::int64_t> nhwc_strides(const std::vector<std::int64_t>& dims) {
  const std::int64_t pixel = dims[1];
  const std::int64_t row = pixel * dims[3];
  return {row * dims[2], 1, row, pixel};
}

Desc make_tensor(std::int64_t id, const std::vector<std::int64_t>& dims,
                 const TensorOptions& options) {
  Desc tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.integers(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id})
      .set<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {options.type})
      .integers(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {options.is_by_value ? 4 : 16})
      .integers(CUDNN_ATTR_TENSOR_DIMENSIONS, dims)
      .integers(CUDNN_ATTR_TENSOR_STRIDES,
                options.strides.empty() ? nhwc_strides(dims) : options.strides);
  const auto flag = [&](cudnnBackendAttributeName_t name, bool value) {
    tensor.set<char>(name, CUDNN_TYPE_BOOLEAN, {static_cast<char>(value)});
  };
  flag(CUDNN_ATTR_TENSOR_IS_VIRTUAL, options.is_virtual);
  flag(CUDNN_ATTR_TENSOR_IS_BY_VALUE, options.is_by_value);
  return tensor.finish();
}

Desc make_pointwise(cudnnPointwiseMode_t mode) {
  Desc pointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  return pointwise
      .set<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, {mode})
      .set<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
                            {CUDNN_DATA_FLOAT})
      .finish();
}

Desc make_pointwise_operation(cudnnPointwiseMode_t mode, const Desc& x, const Desc& y,
                              const Desc* b) {
  Desc operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, {make_pointwise(mode)})
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, {x})
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, {y});
  if (b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, {*b});
  return operation.finish();
}

Desc make_graph(cudnnHandle_t handle, const std::vector<Desc>& operations) {
  Desc graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  return graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations)
      .set<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, {handle})
      .finish();
}

Desc make_plan(cudnnHandle_t handle, const Desc& graph, std::int64_t engine_index) {
  Desc engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, {graph})
      .integers(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {engine_index})
      .finish();
  Desc config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  config.set(CUDNN_ATTR_ENGINECFG_ENGINE, {engine}).finish();
  Desc plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  return plan.set<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, {handle})
      .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, {config})
      .finish();
}

Desc make_pack(const std::vector<Bound>& tensors, void* workspace) {
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
  for (const Bound& tensor : tensors) {
    ids.push_back(tensor.id);
    pointers.push_back(tensor.pointer);
  }
  Desc pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  return pack.integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers)
      .set<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, {workspace})
      .finish();
}

Cudnn::Cudnn() {
  cuda::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudnnCreate(&handle_));
  check(cudnnSetStream(handle_, stream_));
}

Cudnn::~Cudnn() {
  static_cast<void>(cudnnDestroy(handle_));
  static_cast<void>(cudaStreamDestroy(stream_));
}

void Cudnn::run(const std::vector<Desc>& operations, const std::vector<Bound>& tensors) const {
  const Desc plan = make_plan(handle_, make_graph(handle_, operations), 0);
  check(cudnnBackendExecute(handle_, plan.get(), make_pack(tensors).get()));
  cuda::check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

}  // namespace rueda::test
