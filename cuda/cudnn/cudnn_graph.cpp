#include "cuda/cudnn/cudnn_graph.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace rueda::cuda {
namespace {

/// A direction of a convolution, and what its attributes are called.
struct ConvNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t w, x, y, geometry, alpha, beta;
};

/// By ConvDirection.
constexpr ConvNames kConvNames[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};

/// For both directions of an image.
void set_pair(Descriptor& d, cudnnBackendAttributeName_t name,
              const std::array<std::int64_t, 2>& values) {
  d.set(name, std::span<const std::int64_t>(values));
}

}  // namespace

std::string cudnn_words(cudnnStatus_t status) {
  char details[2048] = "";
  cudnnGetLastErrorString(details, sizeof details);
  if (details[0] == '\0') return cudnnGetErrorString(status);
  return fmt::format("{} ({})", cudnnGetErrorString(status), details);
}

void check(cudnnStatus_t status, const std::string& call, std::source_location place) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw RunError(fmt::format("{} failed: {} [{}:{}]", call, cudnn_words(status), place.file_name(),
                             place.line()));
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t raw = nullptr;
  check(cudnnBackendCreateDescriptor(type, &raw), "cudnnBackendCreateDescriptor");
  handle_ = Handle<cudnnBackendDescriptor_t, cudnnBackendDestroyDescriptor>(raw);
}

void Descriptor::set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         std::int64_t count, const void* values) {
  check(cudnnBackendSetAttribute(get(), name, type, count, values),
        "cudnnBackendSetAttribute " + std::to_string(name));
}

std::size_t Descriptor::get_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                std::int64_t room, void* values) const {
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(get(), name, type, room, &count, values),
        "cudnnBackendGetAttribute " + std::to_string(name));
  return std::size_t(count);
}

std::size_t Descriptor::room_for(cudnnBackendAttributeName_t name,
                                 cudnnBackendAttributeType_t type) const {
  constexpr std::size_t kUncounted = 64;  // there are fewer kinds of knobs and of notes
  const std::size_t count = get_raw(name, type, 0, nullptr);
  if (count == 0) return kUncounted;
  return count;
}

Descriptor Descriptor::get_descriptor(cudnnBackendAttributeName_t name,
                                      cudnnBackendDescriptorType_t type) const {
  Descriptor copy(type);
  cudnnBackendDescriptor_t raw = copy.get();
  get_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  return copy;
}

std::vector<Descriptor> Descriptor::get_descriptors(cudnnBackendAttributeName_t name,
                                                    cudnnBackendDescriptorType_t type,
                                                    std::size_t most) const {
  std::vector<Descriptor> copies(std::min(most, room_for(name, CUDNN_TYPE_BACKEND_DESCRIPTOR)));
  std::vector<cudnnBackendDescriptor_t> raw;
  for (Descriptor& copy : copies) {
    copy = Descriptor(type);
    raw.push_back(copy.get());
  }
  const auto room = std::int64_t(raw.size());
  copies.resize(
      std::min(copies.size(), get_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, room, raw.data())));
  return copies;
}

CudnnGraph::Tensor CudnnGraph::tensor(Tensor id, const TensorSpec& spec) {
  add(id, spec, false);
  in_memory_[id] = spec;
  return id;
}

CudnnGraph::Tensor CudnnGraph::intermediate(const TensorSpec& spec) {
  const auto made = static_cast<Tensor>(tensors_.size() - in_memory_.size());
  add(kFirstIntermediate + made, spec, true);
  return kFirstIntermediate + made;
}

void CudnnGraph::add(Tensor id, const TensorSpec& spec, bool is_virtual) {
  const auto [n, c, h, w] = spec.dims;
  const std::array<std::int64_t, 4> strides{c * h * w, 1, c * w, c};
  Descriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, spec.type);
  d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, spec.alignment);
  d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const std::int64_t>(spec.dims));
  d.set(CUDNN_ATTR_TENSOR_STRIDES, std::span<const std::int64_t>(strides));
  d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  d.finalize();
  tensors_.emplace(id, std::move(d));
}

void CudnnGraph::conv(ConvDirection direction, Tensor w, Tensor x, Tensor y,
                      const ConvGeometry& geometry) {
  Descriptor& shape = parts_.emplace_back(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  shape.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
  shape.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  shape.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  set_pair(shape, CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1});
  set_pair(shape, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, geometry.stride);
  set_pair(shape, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, geometry.padding);
  set_pair(shape, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, geometry.padding);
  shape.finalize();

  const ConvNames& names = kConvNames[std::size_t(direction)];
  Descriptor& operation = operations_.emplace_back(names.type);
  operation.set(names.w, at(w));
  operation.set(names.x, at(x));
  operation.set(names.y, at(y));
  operation.set(names.geometry, shape);
  operation.set(names.alpha, 1.0F);
  operation.set(names.beta, 0.0F);
  operation.finalize();
}

void CudnnGraph::binary(cudnnPointwiseMode_t mode, Tensor a, Tensor b, Tensor y) {
  Descriptor& kind = parts_.emplace_back(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, mode);
  kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  kind.finalize();
  Descriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, at(a));
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, at(b));
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, at(y));
  operation.finalize();
}

void CudnnGraph::channel_sums(Tensor x, Tensor sums, Tensor square_sums) {
  Descriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_GENSTATS_SUM_SQSUM);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_DATA_FLOAT);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, at(x));
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, at(sums));
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, at(square_sums));
  operation.finalize();
}

Descriptor CudnnGraph::finish(const CudnnTarget& target) {
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const Descriptor& operation : operations_) operations.push_back(operation.get());
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, std::span<const cudnnBackendDescriptor_t>(operations));
  // cuDNN before 9.8 asks for it; with it, no plan can be made without a device.
  if (target.handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, target.handle);
  graph.finalize();
  return graph;
}

}  // namespace rueda::cuda
