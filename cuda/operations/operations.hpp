#pragma once

#include <memory>

#include "cuda/backend/context.hpp"
#include "cuda/kernels/activation_kernels.hpp"
#include "rueda/backend/operation.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::cuda {

/// What an operation is made from. Graph and context outlive it.
struct OperationRequest {
  Context& context;
  const Graph& graph;
  NodeId node;
  int batch;
  Mode mode;
  /// A full batch of training: worth what takes time to compile.
  bool full = false;

  const Node& self() const { return graph.node(node); }
  NodeId input() const { return self().inputs.front(); }
  bool has_residual() const { return self().inputs.size() == 2; }
  Element element() const { return element_of(self(), context); }
  Element input_element() const { return element_of(graph.node(input()), context); }
  ImageShape shape_of(NodeId id) const {
    const Shape s = graph.shape(id);
    return {batch, s.channels, s.height, s.width};
  }
  /// Pixels of the whole batch: the rows of an activation seen as a matrix.
  std::size_t rows_of(NodeId id) const {
    const ImageShape s = shape_of(id);
    return static_cast<std::size_t>(s.images) * static_cast<std::size_t>(s.height) *
           static_cast<std::size_t>(s.width);
  }
};

std::unique_ptr<Operation> make_conv(const OperationRequest& request, const ConvNode& conv);
std::unique_ptr<Operation> make_batch_norm(const OperationRequest& request,
                                           const BatchNormNode& norm);
std::unique_ptr<Operation> make_add(const OperationRequest& request, const AddNode& add);
std::unique_ptr<Operation> make_max_pool(const OperationRequest& request, const MaxPoolNode& pool);
std::unique_ptr<Operation> make_pad_shortcut(const OperationRequest& request,
                                             const PadShortcutNode& pad);
std::unique_ptr<Operation> make_global_average_pool(const OperationRequest& request);
std::unique_ptr<Operation> make_dense(const OperationRequest& request, const DenseNode& dense);

}  // namespace rueda::cuda
